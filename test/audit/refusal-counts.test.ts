import { expect, it } from 'vitest'
import { createRefusalCounts } from '#src/audit/refusal-counts.ts'

const refusal = (customerId: string | null, more = {}) => ({
  hour: 7,
  customerId,
  action: 'delivery.refused',
  errorCode: 'A',
  count: 1,
  ...more,
})

it('adds up what has the same hour, customer, action and code', () => {
  const counts = createRefusalCounts()
  expect(counts.some()).toBe(false)
  counts.add([refusal('one'), refusal('one', { count: 3 }), refusal(null), refusal('one', { errorCode: 'B' })])
  counts.add([refusal('one', { hour: 8 }), refusal('one', { action: 'login.refused' })])
  expect(counts.some()).toBe(true)
  expect(counts.take()).toEqual([
    refusal('one', { count: 4 }),
    refusal(null),
    refusal('one', { errorCode: 'B' }),
    refusal('one', { hour: 8 }),
    refusal('one', { action: 'login.refused' }),
  ])
  expect([counts.some(), counts.take()]).toEqual([false, []])
})

it('holds a bounded number of counts, and loses none', () => {
  const counts = createRefusalCounts()
  for (let n = 0; n < 5000; n++) counts.add([refusal(`customer-${n % 2500}`)])
  const taken = counts.take()
  expect(taken.length).toBe(1001)
  expect(taken.reduce((sum, { count }) => sum + count, 0)).toBe(5000)
  expect(taken.find(({ customerId }) => customerId === 'customer-0')?.count).toBe(2)
})
