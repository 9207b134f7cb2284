import { describe, expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import { runCommand } from '../support/processes/command.ts'
import { customer, delivery, nextNumber } from '../support/store/store-rows.ts'
import { type EmptyStore, storesOfRun } from '../support/store/stores.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { addEndpointWith, confirmedAt } from '../support/webhooks/unsent.ts'

const DAY = 86_400_000
const OLD = ['purge', '--older', '400d']

/** Positions 1 to 5 are old deliveries without an order, of two customers in turn, with the Statuses 0 to 3; 6 is young. */
async function makeStore(emptyStore: EmptyStore) {
  const env = await emptyStore()
  const cwd = tempFolder()
  const [one, two] = [customer(), customer()]
  const customers = [one, two]
  const withStore = async <Result>(work: (store: Store) => Promise<Result>): Promise<Result> => {
    const { store } = await openStore(loadConfig(env).config, 0)
    return work(store).finally(() => store.close())
  }
  await withStore(async (store) => {
    for (const each of customers) await store.customers.insert(each)
    for (const [n, days] of [500, 499, 498, 497, 496, 1].entries()) {
      const receivedAt = Date.now() - days * DAY
      const hex = receivedAt.toString(16).padStart(12, '0')
      const receiptId = `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${nextNumber().toString(16).padStart(12, '0')}`
      const { id } = customers[n % 2] as (typeof customers)[number]
      await store.deliveries.deliver(delivery(id, { receiptId, receivedAt, orderId: null, status: n % 4 }))
    }
  })
  const run = (...args: string[]) => runCommand(args, { cwd, env })
  const json = async (...args: string[]) => {
    const { status, stdout, stderr } = await run(...args, '--json')
    expect([status, stderr]).toEqual([0, ''])
    return JSON.parse(stdout)
  }
  const positions = () =>
    withStore(async ({ deliveries }) =>
      (await deliveries.after(0, {}, { limit: 100, scan: 100 })).deliveries.map(({ position }) => position),
    )
  const removedUnsent = (id: string) => withStore(async ({ webhooks }) => (await webhooks.find(id))?.removedUnsent)
  return { one: one.id, withStore, run, json, positions, removedUnsent }
}

describe.each(storesOfRun())('teslim purge with webhook endpoints, on %s', (_kind, emptyStore) => {
  it('keeps what an endpoint has not taken, says how many for each, and removes and counts them with --unsent', async () => {
    const { withStore, run, json, positions, removedUnsent } = await makeStore(emptyStore)
    const [id, upToDate] = await withStore(async (store) => [
      await addEndpointWith(store, { position: 2 }, { confirmed: [confirmedAt(4)] }),
      await addEndpointWith(store, { position: 6 }),
    ])
    const kept = { deliveries: 3, orders: 0, webhooks: [{ id, kept: 2, removed: 0 }] }
    expect(await json(...OLD, '--dry-run')).toMatchObject({ dryRun: true, ...kept })
    expect((await run(...OLD, '--dry-run')).stdout).toContain(
      `Would keep 2 old deliveries that webhook endpoint ${id} has not taken: see teslim webhook show ${id}. --unsent removes them, too.\n`,
    )
    expect(await positions()).toHaveLength(6)
    expect(await json(...OLD)).toMatchObject({ dryRun: false, ...kept })
    expect(await positions()).toEqual([3, 5, 6])
    expect((await run(...OLD)).stdout).toMatch(
      new RegExp(`^Removed 0 deliveries .*\nKept 2 old deliveries that webhook endpoint ${id} has not taken: `),
    )
    expect((await run(...OLD, '--unsent', '--dry-run')).stdout).toContain(
      `Of what would be removed, webhook endpoint ${id} has not taken 2 deliveries.\n`,
    )
    expect(await removedUnsent(id as string)).toBe(0)
    expect(await json(...OLD, '--unsent')).toMatchObject({ deliveries: 2, webhooks: [{ id, kept: 0, removed: 2 }] })
    expect(await positions()).toEqual([6])
    expect([await removedUnsent(id as string), await removedUnsent(upToDate as string)]).toEqual([2, 0])
    expect(await json(...OLD, '--unsent')).toMatchObject({ deliveries: 0, webhooks: [] })
    expect(await removedUnsent(id as string)).toBe(2)
    const events = await json('audit', 'list', '--action', 'delivery.purge')
    expect(events.map(({ details }: { details: object }) => details)).toMatchObject([
      { unsent: false },
      { unsent: true },
    ])
  })

  it('an erasure overwrites what is unsent and keeps it, to be sent as erased', async () => {
    const { one, withStore, json, positions } = await makeStore(emptyStore)
    await withStore((store) => addEndpointWith(store, { position: 0 }))
    expect(await json('customer', 'remove', one, '--erase')).toMatchObject({ erased: 3 })
    expect(await positions()).toHaveLength(6)
    expect(await json(...OLD)).toMatchObject({ deliveries: 0 })
  })
})
