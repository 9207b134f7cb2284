import fc from 'fast-check'
import { expect, it } from 'vitest'
import { mostBytesOfLog } from '#src/store/sqlite/disk-use.ts'

const GIB = 1024 ** 3
const bytes = fc.nat({ max: 2 ** 45 })

it('a log that has grown to its bound can be copied into the file, whatever disk it is on', () => {
  fc.assert(
    fc.property(bytes, bytes, bytes, (file, wal, free) => {
      const most = mostBytesOfLog({ file, wal, free })
      const grown = Math.max(0, most - wal)
      expect(most).toBeLessThanOrEqual(free - grown)
    }),
  )
})

it.each([
  ['of a small store on a large disk: 16 GiB', { file: GIB, wal: GIB, free: 500 * GIB }, 16 * GIB],
  [
    'of a large store: as much as the file, so that a backup can be made',
    { file: 200 * GIB, wal: 0, free: 500 * GIB },
    200 * GIB,
  ],
  ['on a small disk: half of the room that it has', { file: GIB, wal: GIB, free: 9 * GIB }, 5 * GIB],
  ['with less room than it has itself: that room', { file: GIB, wal: 3 * GIB, free: 2 * GIB }, 2 * GIB],
])('the bound of the log %s', (_, room, bound) => {
  expect(mostBytesOfLog(room)).toBe(bound)
})
