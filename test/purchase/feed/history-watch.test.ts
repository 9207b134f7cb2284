import { expect, it } from 'vitest'
import { createHistoryWatch } from '#src/purchase/feed/history-watch.ts'
import type { StoreHistory } from '#src/store/store.ts'

const resumed = { at: 0, lastPosition: 90, after: 5_000 }

it('says once that the last position went back, and once where deliveries go on', async () => {
  const logged: unknown[] = []
  const log = (level: string) => (fields: object, message: string) => void logged.push([level, fields, message])
  const said: StoreHistory[] = [
    { timeline: 1, lastPosition: 80, resumed: null },
    { timeline: 1, lastPosition: 100, resumed: null },
    { timeline: 2, lastPosition: 90, resumed: null },
    { timeline: 2, lastPosition: 90, resumed: null },
    { timeline: 2, lastPosition: 5_007, resumed },
    { timeline: 2, lastPosition: 5_008, resumed },
    { timeline: 3, lastPosition: 9_001, resumed: { at: 1, lastPosition: 5_008, after: 9_000 } },
  ]
  const left = said.values()
  const history = async () => left.next().value as StoreHistory
  const look = createHistoryWatch(history, { warn: log('warn'), error: log('error') })
  for (const _ of said) await look()
  expect(logged).toEqual([
    [
      'error',
      { timeline: 2, lastPosition: 90, highestSeen: 100 },
      expect.stringMatching(/^the last position went back/),
    ],
    [
      'error',
      {
        timeline: 2,
        lastLeft: 90,
        resumedAfter: 5_000,
        firstStoredAt: '1970-01-01T00:00:00.000Z',
        highestSeen: 100,
      },
      expect.stringMatching(/^deliveries go on after a failover/),
    ],
    [
      'warn',
      { timeline: 3, lastLeft: 5_008, resumedAfter: 9_000, firstStoredAt: '1970-01-01T00:00:00.001Z' },
      expect.stringMatching(/^deliveries go on after a failover/),
    ],
  ])
})
