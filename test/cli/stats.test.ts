import { chmodSync } from 'node:fs'
import { beforeAll, expect, it } from 'vitest'
import { runCommand } from '../support/processes/command.ts'
import { commandStage } from '../support/processes/command-stage.ts'
import { customer, delivery } from '../support/store/store-rows.ts'

const { cwd, path, run, withStore } = commandStage()
const [one, other] = [customer({ email: 'one@example.com' }), customer({ email: 'other@example.com' })]
const HOUR = 3_600_000
const midnight = Date.parse('2026-11-20T00:00:00Z')
const RANGE = ['--from', '2026-11-19T20:00:00Z', '--to', '2026-11-20T08:00:00Z']

beforeAll(() =>
  withStore(async (store) => {
    for (const each of [one, other]) await store.customers.insert(each)
    const deliver = (who: string, hours: number, status: number, count: number) =>
      Promise.all(
        Array.from({ length: count }, () =>
          store.deliveries.deliver(delivery(who, { receivedAt: midnight + hours * HOUR, orderId: null, status })),
        ),
      )
    await deliver(one.id, -1, 1, 1200)
    await deliver(one.id, 0, 0, 3)
    await store.rollUps.count(1000)
    await deliver(other.id, 5, 2, 600)
    const refusal = { customerId: one.id, action: 'delivery.refused', errorCode: 'PRODUCT_NOT_AUTHORIZED', count: 1234 }
    await store.audit.append([], [{ ...refusal, hour: midnight / HOUR }])
  }),
)

it('lists the hours in which something came, and the sum, within 80 columns', async () => {
  const { status, stdout, stderr } = await runCommand(['stats', ...RANGE], { cwd, columns: 80 })
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout).toBe(`hour (UTC)           deliveries  0  1      2    3  echoes  refused
2026-11-19 23:00:00  1,200       0  1,200  0    0  0       0
2026-11-20 00:00:00  3           3  0      0    0  0       1,234
2026-11-20 05:00:00  600         0  0      600  0  0       0
total                1,803       3  1,200  600  0  0       1,234
Refused deliveries: PRODUCT_NOT_AUTHORIZED 1,234
`)
  const { stdout: ofOne } = await run('stats', ...RANGE, '--customer', 'one@example.com')
  expect(ofOne).toContain('\ntotal                1,203       3  1,200  0  0  0       1,234\n')
})

it('prints what the API answers as JSON, by day', async () => {
  const { stdout } = await run('stats', '--by', 'day', '--from', '2026-11-19', '--to', '2026-11-21', '--json')
  expect(JSON.parse(stdout)).toMatchObject({
    From: '2026-11-19T00:00:00Z',
    To: '2026-11-21T00:00:00Z',
    By: 'day',
    Periods: [
      { From: '2026-11-19T00:00:00Z', Deliveries: { Total: 1200, ByStatus: { 1: 1200 } }, Refusals: { Total: 0 } },
      { From: '2026-11-20T00:00:00Z', Deliveries: { Total: 603, ByStatus: { 0: 3, 2: 600 } } },
    ],
    Totals: { Deliveries: { Total: 1803 }, Refusals: { Total: 1234, ByCode: { PRODUCT_NOT_AUTHORIZED: 1234 } } },
  })
})

it('refuses a range that is too long, a period it does not know, and a customer that does not exist', async () => {
  const statusOf = async (...args: string[]) => (await run('stats', ...args)).status
  expect(await statusOf('--from', '32d')).toBe(2)
  expect(await statusOf('--by', 'week')).toBe(2)
  expect(await statusOf('--from', 'yesterday')).toBe(2)
  expect(await statusOf('--customer', 'nobody@example.com')).toBe(1)
})

it('reads a file that may not be written to', async () => {
  chmodSync(path, 0o400)
  const { status, stderr } = await run('stats', ...RANGE)
  chmodSync(path, 0o600)
  expect([status, stderr]).toEqual([0, ''])
})
