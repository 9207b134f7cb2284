import type { NewDelivery } from '../store.ts'

/** The arguments of `deliver_1`. Arrays go as PostgreSQL's text for them, the payloads as the bytes they are. */
export function batchArguments(deliveries: readonly NewDelivery[]): unknown[] {
  const lengths = deliveries.map(({ payload }) => payload.length)
  let end = 0
  const starts = lengths.map((length) => {
    const start = end + 1
    end += length
    return start
  })
  return [
    textArray(deliveries.map(({ customerId }) => customerId)),
    plainArray(deliveries.map(({ receiptId }) => receiptId)),
    textArray(deliveries.map(({ orderId }) => orderId)),
    plainArray(deliveries.map(({ status }) => status)),
    plainArray(deliveries.map(({ receivedAt }) => receivedAt)),
    textArray(deliveries.map(({ idempotency }) => idempotency?.key ?? null)),
    plainArray(deliveries.map(({ idempotency }) => idempotency?.notBefore ?? null)),
    plainArray(starts),
    plainArray(lengths),
    Buffer.concat(deliveries.map(({ payload }) => payload)),
  ]
}

const plainArray = (values: readonly (string | number | null)[]): string =>
  `{${values.map((value) => value ?? 'NULL').join(',')}}`

const textArray = (values: readonly (string | null)[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : `"${value.replace(/["\\]/g, '\\$&')}"`)).join(',')}}`

/**
 * The places of a batch, in rounds to be stored one after the other: an idempotency key stands at most once in a round,
 * and after the rounds in which it stood before.
 */
export function inRounds(deliveries: readonly NewDelivery[]): number[][] {
  const rounds: number[][] = []
  const seen = new Map<string, number>()
  for (const [place, { customerId, idempotency }] of deliveries.entries()) {
    const name = idempotency && `${customerId}\0${idempotency.key}`
    const round = name === null ? 0 : (seen.get(name) ?? 0)
    if (name !== null) seen.set(name, round + 1)
    const places = rounds[round] ?? []
    places.push(place)
    rounds[round] = places
  }
  return rounds
}
