import { until } from '../../support/until.ts'
import { changedRepeats, firstArrivals, type Receiver } from '../../support/webhooks/webhook-receiver.ts'
import type { Follower } from './readers.ts'

/** A row of the table of deliveries. */
export interface Stored {
  readonly receipt: string
  readonly order: string
  readonly payload: string
}

const GOT_MILLISECONDS = 30_000

/**
 * Compares the table, in the order of commits, with what was acknowledged. Suppliers go on until they have a receipt: of a delivery whose
 * first answer did not arrive it may be one that the next primary gave, and that was lost when the first one came back.
 */
export function judgeStored(stored: readonly Stored[], acknowledged: ReadonlySet<string>): string[] {
  const receipts = new Set(stored.map(({ receipt }) => receipt))
  const payloads = new Set(stored.map(({ payload }) => payload))
  const unknown = receipts.difference(acknowledged).size - acknowledged.difference(receipts).size
  return [
    ...(payloads.size < stored.length ? [`${stored.length - payloads.size} deliveries are stored twice`] : []),
    ...(unknown > 0 ? [`${unknown} deliveries are stored, and no supplier has their receipts`] : []),
  ]
}

/** A follower has everything that is stored, once, in the order of commits, or was told that it has seen what is not. */
export async function judgeFollower({ name, receipts, told }: Follower, stored: readonly Stored[]): Promise<string[]> {
  const all = stored.map(({ receipt }) => receipt)
  const missing = () => new Set(all).difference(new Set(receipts)).size
  await until('', () => missing() === 0, { milliseconds: GOT_MILLISECONDS }).catch(() => undefined)
  if (missing() > 0) return [`${name} misses ${missing()} of ${all.length} deliveries; it was told ${told[0]}`]
  const there = new Set(all)
  const gone = new Set(receipts).difference(there).size
  const left = receipts.filter((receipt) => there.has(receipt))
  // Who was told has seen another history, where the same deliveries may have come in another order, and was sent back.
  const at = told.length > 0 ? -1 : left.findIndex((receipt, index) => receipt !== all[index])
  return [
    ...(at === -1
      ? []
      : [
          `${name}: entries ${at} of ${left.length} are ${left.slice(at, at + 3)}, the table has ${all.slice(at, at + 3)}, and the first one at ${all.indexOf(left[at] ?? '')}`,
        ]),
    ...(gone > 0 && told.length === 0 ? [`${name} has ${gone} deliveries that were lost, and was not told`] : []),
    ...(gone === 0 && told.length > 0 ? [`${name} lost nothing, and was told: ${told[0]}`] : []),
  ]
}

/**
 * The endpoint got everything that is stored, those of an order in the order of commits; repeats have the same bytes. Its attempts or the
 * log tell if it got what is not stored.
 */
export async function judgeWebhook(
  { received }: Receiver,
  stored: readonly Stored[],
  notices: () => Promise<string>,
): Promise<string[]> {
  const there = new Set(stored.map(({ receipt }) => receipt))
  const got = () => new Set(received.map(({ id }) => id))
  const missing = () => there.difference(got()).size
  await until('', () => missing() === 0, { milliseconds: GOT_MILLISECONDS }).catch(() => undefined)
  const gone = got().difference(there).size
  const told = /lost deliveries|may have got were lost/.test(await notices())
  const orders = Map.groupBy(stored, ({ order }) => order)
  const wrong = [...firstArrivals(received)].filter(([order, ids]) => {
    const left = ids.filter((id) => there.has(id))
    return left.join() !== (orders.get(order) ?? []).map(({ receipt }) => receipt).join()
  })
  return [
    ...(missing() > 0 ? [`the webhook misses ${missing()} of ${stored.length} deliveries; it was told: ${told}`] : []),
    ...(gone > 0 && !told ? [`the webhook got ${gone} deliveries that were lost, and nothing says so`] : []),
    ...(missing() === 0 && wrong.length > 0 && !told
      ? [`the webhook got ${wrong.length} orders in another order`]
      : []),
    ...changedRepeats(received).map((id) => `the webhook got ${id} again with other bytes`),
  ]
}
