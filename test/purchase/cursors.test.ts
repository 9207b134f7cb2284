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

it('a key of before a restore opens positions up to the end of the backup only, and nothing else', async () => {
  const [earlier, current] = [1, 2].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer]
  const before = createCursors({ findOrInsert: async () => earlier, list: async () => [] }, systemRandom)
  const after = createCursors(
    {
      findOrInsert: async () => current,
      list: async () => [{ name: 'cursor-key-until:7:1763726400123', value: earlier }],
    },
    systemRandom,
  )
  const refused = { code: 'CURSOR_INVALID' }
  expect(await after.open(['feed', null], await before.seal(['feed', null], 7))).toBe(7)
  await expect(after.open(['feed', 'c'], await before.seal(['feed', null], 7))).rejects.toMatchObject(refused)
  await expect(after.open(['feed', null], await before.seal(['feed', null], 8))).rejects.toMatchObject(refused)
  await expect(after.open(['list'], await before.seal(['list'], { orderId: 'PO-1' }))).rejects.toMatchObject(refused)
  expect(await after.open(['feed', null], await after.seal(['feed', null], 8))).toBe(8)
})
