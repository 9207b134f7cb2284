import { expect, it } from 'vitest'
import { periodWithin } from '#src/purchase/origin-filter.ts'
import { apiKey } from '../support/store/store-rows.ts'

const DAY = 86_400_000
const [createdAt, end] = [100 * DAY, 200 * DAY]
const all = { from: undefined, to: undefined }

it('a search for a key begins a day before the key was made, and ends a day after it ended', () => {
  const live = apiKey('c', { createdAt })
  const ended = { from: 99 * DAY, to: 201 * DAY }
  expect(periodWithin(all, undefined)).toEqual(all)
  expect(periodWithin(all, live)).toEqual({ from: 99 * DAY, to: undefined })
  expect(periodWithin(all, { ...live, revokedAt: end })).toEqual(ended)
  expect(periodWithin(all, { ...live, expiresAt: end, revokedAt: end + DAY })).toEqual(ended)
  expect(periodWithin({ from: 150 * DAY, to: 160 * DAY }, { ...live, revokedAt: end })).toEqual({
    from: 150 * DAY,
    to: 160 * DAY,
  })
  expect(periodWithin({ from: 1, to: 300 * DAY }, { ...live, expiresAt: end })).toEqual(ended)
})
