import { expect, it } from 'vitest'
import { readPlace } from '#src/webhook/endpoints/read-begin.ts'

const NOW = Date.parse('2026-11-21T09:00:00Z')

it.each([
  ['now', ['start'], 'must be start, a cursor, or a time with its zone'],
  ['start', [], 'must be a cursor, or a time with its zone'],
  ['2026-11-21T09:00:00', ['now', 'start'], 'must be now, start, a cursor, or a time with its zone'],
  ['2026-11-22', ['now', 'start'], 'must not be in the future'],
] as const)('the place %s is refused where %j may be said: %s', (text, words, message) => {
  const refused = { code: 'INVALID_REQUEST', message: `The request is not valid: /From ${message}.` }
  expect(() => readPlace('/From', text, words, NOW)).toThrow(expect.objectContaining(refused))
})

it.each([
  ['start', 'start'],
  ['2026-11-21T08:00:00Z', { time: NOW - 3_600_000 }],
  ['cABC', { cursor: 'cABC' }],
])('the place %s is read', (text, place) => {
  expect(readPlace('/From', text, ['start'], NOW)).toEqual(place)
})
