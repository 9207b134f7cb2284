import { expect, it, vi } from 'vitest'
import { namesOf } from '#src/lib/display-name.ts'

const one = { id: '1', name: 'Kitap', email: 'a@b.co' }
const other = { id: '2', name: '', email: 'b@b.co' }

it('names are looked up at once, each customer once, and not at all where there is none', async () => {
  const find = vi.fn(async (ids: readonly string[]) => [one, other].filter(({ id }) => ids.includes(id)))
  expect(await namesOf(find, ['1', null, '2', '1', 'gone'])).toEqual(
    new Map([
      ['1', 'Kitap <a@b.co>'],
      ['2', 'b@b.co'],
    ]),
  )
  expect(find.mock.calls).toEqual([[['1', '2', 'gone']]])
  expect(await namesOf(find, [null])).toEqual(new Map())
  expect(find).toHaveBeenCalledOnce()
})
