import { neighboursOf } from '#src/lib/net/network.ts'
import type { ApiKey, AuditPlace, AuditStore } from '#src/store/store.ts'
import type { DeliverySearch, OnScanned } from './delivery-search.ts'

/** What came with an API key since a time. */
export type KeyUse = Awaited<ReturnType<typeof readKeyUse>>

const BOUNDS = { limit: 500, scan: 20_000 }

/** Counts what came with a key since a time, in milliseconds since 1970. */
export async function readKeyUse(
  search: DeliverySearch,
  audit: AuditStore,
  key: ApiKey,
  since: number,
  onScanned: OnScanned,
) {
  const byStatus = [0, 0, 0, 0]
  /** Null stands for addresses that are erased or not known. */
  const networks = new Map<string | null, number>()
  /** The latter are echoes among the former. */
  let [deliveries, duplicates] = [0, 0]
  let firstAt: number | null = null
  let lastAt: number | null = null
  for await (const { delivery, origin } of search.findBack({ key, from: since }, onScanned)) {
    const { status, duplicate, receivedAt } = delivery
    deliveries++
    if (duplicate) duplicates++
    byStatus[status] = (byStatus[status] ?? 0) + 1
    firstAt = Math.min(firstAt ?? receivedAt, receivedAt)
    lastAt = Math.max(lastAt ?? receivedAt, receivedAt)
    countIn(networks, origin?.address ? neighboursOf(origin.address) : null)
  }
  const { refusals, notRecorded } = await readRefusals(audit, key, since)
  return { deliveries, duplicates, byStatus, firstAt, lastAt, networks: mostFirst(networks), refusals, notRecorded }
}

async function readRefusals(audit: AuditStore, { id, customerId }: ApiKey, from: number) {
  const codes = new Map<string, number>()
  /** Refusals with any key of the customer that were only counted. */
  let notRecorded = 0
  const filter = { customerId, action: 'delivery.refused', from }
  for (let place: AuditPlace | null | undefined; place !== null; ) {
    const page: Awaited<ReturnType<typeof audit.before>> = await audit.before(place ?? null, filter, BOUNDS)
    for (const { keyId, details } of page.events) {
      if (keyId === id) countIn(codes, String(details.errorCode))
      else if (keyId === null) notRecorded += Number(details.notRecorded ?? 0)
    }
    place = page.next
  }
  return { refusals: mostFirst(codes), notRecorded }
}

const countIn = <Name>(counts: Map<Name, number>, name: Name): void => {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

const mostFirst = <Name>(counts: Map<Name, number>): (readonly [Name, number])[] =>
  [...counts].sort(([, one], [, other]) => other - one)
