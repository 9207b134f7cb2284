import { expect, it } from 'vitest'
import { nearest } from '#src/lib/nearest.ts'

it.each([
  ['TESLIM_TOKEN_TLT', 'TESLIM_TOKEN_TTL'],
  ['TESLIM_BODY_LIMITS', 'TESLIM_BODY_LIMIT'],
  ['TESLIM_XYZ', undefined],
])('the name nearest to %s is %s', (typed, meant) => {
  expect(nearest(typed, ['TESLIM_BODY_LIMIT', 'TESLIM_TOKEN_TTL'])).toBe(meant)
})

it('two edits of a short name make another word', () => {
  expect([nearest('foo', ['from']), nearest('form', ['fork', 'from']), nearest('limt', ['limit'])]).toEqual([
    undefined,
    'fork',
    'limit',
  ])
})
