import { expect, it } from 'vitest'
import { systemRandom } from '#src/lib/random.ts'
import { createCursors } from '#src/purchase/cursors.ts'

it('a cursor never begins like a command-line option', async () => {
  const key = Buffer.from(systemRandom(32))
  const cursors = createCursors({ findOrInsert: async () => key, list: async () => [] }, systemRandom)
  for (let place = 0; place < 500; place++) {
    const cursor = await cursors.seal(['feed'], place)
    expect(cursor).toMatch(/^[A-Za-z0-9]/)
    expect(await cursors.open(['feed'], cursor)).toBe(place)
    await expect(cursors.open(['feed'], cursor.slice(1))).rejects.toMatchObject({ code: 'CURSOR_INVALID' })
  }
})
