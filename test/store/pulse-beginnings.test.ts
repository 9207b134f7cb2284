import { expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { NewDelivery, Pulse, PulseSecond } from '#src/store/store.ts'
import { customer, delivery, nextNumber } from '../support/store/store-rows.ts'
import { storesOfRun } from '../support/store/stores.ts'

const AT = 1_763_726_460_000

/** As the service makes it: the receipt begins with the time. */
function received(customerId: string, receivedAt: number, status: number): NewDelivery {
  const [time, number] = [receivedAt.toString(16).padStart(12, '0'), nextNumber().toString(16).padStart(12, '0')]
  const receiptId = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${number}`
  return delivery(customerId, { receiptId, receivedAt, status })
}

const inShort = ({ second, byStatus, duplicates }: PulseSecond) => [second, byStatus.join(' '), duplicates]
const times = ({ newest }: Pulse) => newest.map(({ receivedAt }) => receivedAt)

for (const [name, emptyStore] of storesOfRun()) {
  it(`${name}: without a position, with an unknown one and with one too far back a pulse begins again`, async () => {
    const { config } = loadConfig(await emptyStore())
    const { store } = await openStore(config, 0)
    const { pulse } = store.deliveries
    const empty = { position: 0, deliveries: 0, seconds: [], newest: [] }
    expect(await pulse(0, { from: AT, look: 5, newest: 5 })).toEqual({ ...empty, since: undefined })
    for (const after of [undefined, 1])
      expect(await pulse(after, { from: AT - 1, look: 5, newest: 5 })).toEqual({ ...empty, since: AT })

    const { id } = customer()
    await store.customers.insert(customer({ id }))
    const sent = [
      received(id, AT - 1, 1),
      // Out of order, as replicas commit them.
      received(id, AT + 2001, 2),
      received(id, AT + 1, 3),
      received(id, AT + 1001, 0),
      received(id, AT + 1002, 0),
    ]
    for (const each of sent) await store.deliveries.deliver(each)
    // A second that is not whole is not counted.
    for (const from of [AT - 999, AT]) {
      for (const after of [undefined, 6, 1e15, -1e6]) {
        const begun = await pulse(after, { from, look: 1e6, newest: 2 })
        expect(begun).toMatchObject({ position: 5, since: AT, deliveries: 4 })
        expect(begun.seconds.map(inShort)).toEqual([
          [AT / 1000, '0 0 0 1', 0],
          [AT / 1000 + 1, '2 0 0 0', 0],
          [AT / 1000 + 2, '0 0 1 0', 0],
        ])
        expect(times(begun)).toEqual([AT + 1002, AT + 1001])
      }
    }
    // Of the four it may look at three: one in the first second is missing.
    const cut = await pulse(0, { from: AT, look: 3, newest: 10 })
    expect(cut).toMatchObject({ position: 5, since: AT + 2000, deliveries: 3 })
    expect(times(cut)).toEqual([AT + 1002, AT + 1001, AT + 2001])
    const all = await pulse(0, { from: AT, look: 5, newest: 10 })
    expect(all).toMatchObject({ position: 5, since: undefined, deliveries: 5 })
    expect(all.seconds.map(inShort)).toHaveLength(3)
    expect(all.newest).toHaveLength(5)
    const none = await pulse(undefined, { from: AT + 9001, look: 5, newest: 5 })
    expect(none).toEqual({ ...empty, position: 5, since: AT + 10_000 })
    await store.close()
  })
}
