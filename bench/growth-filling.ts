import { randomUUID } from 'node:crypto'
import { loadConfig } from '#src/config/load-config.ts'
import { newId, systemRandom } from '#src/lib/random.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Filling, Supplier } from './fill-store.ts'

export const CUSTOMERS = 5000
/** Between two deliveries. */
export const MILLISECONDS = 100
/** The first one with all sizes. */
export const SMALLEST = 200_000

/** Purges remove what no order needs of so many deliveries at most. */
export const PURGED = 50_000

/** Customers by their numbers: with half of the orders, one in a hundred and one in 5,000; and one that stopped after 100 deliveries. */
export const [BIG, USUAL, SMALL, OLD] = [1, 2, 3, 4] as const

const ORDER = '((n - 1) / 10000 * 1000 + (n - 1) % 1000)'
const LONG = '(n > 100000 AND n <= 200000 AND n % 10 = 4)'

/** Ten deliveries an order, a thousand apart; and one order of 10,000. The other customers are of very different size. */
export const FILLING: Filling = {
  whose: `
    CASE WHEN ${LONG} OR ${ORDER} % 2 = 0 THEN ${BIG} WHEN ${ORDER} % 100 = 21 THEN ${USUAL} WHEN ${ORDER} % 5000 = 7 THEN ${SMALL}
         WHEN n > 100000 AND n <= 140000 AND ${ORDER} % 400 = 9 THEN ${OLD}
         ELSE 5 + (${ORDER} * 7919 % 10007) * (${ORDER} * 7919 % 10007) / 10007 * ${CUSTOMERS - 5} / 10007 END`,
  order: `CASE WHEN ${LONG} THEN 'long' ELSE 'PO-' || ${ORDER} END`,
  previous: `CASE WHEN ${LONG} THEN CASE WHEN n > 100004 THEN n - 10 END WHEN (n - 1) / 1000 % 10 > 0 THEN n - 1000 END`,
  isLast: `CASE WHEN ${LONG} THEN n > 199990 ELSE (n - 1) / 1000 % 10 = 9 END`,
  status: '(n - 1) / 1000 % 4',
  milliseconds: MILLISECONDS,
  keyed: 10,
}

const AT_ONCE = 2000
/** One refusal beside so many deliveries. */
const DELIVERIES_EACH = 100

/** Stores refusals of suppliers in turn, as of between two numbers of deliveries. */
export async function fillRefusals(databaseUrl: string, suppliers: readonly Supplier[], from: number, to: number) {
  const { store } = await openStore(loadConfig({ DATABASE_URL: databaseUrl }).config, Date.now())
  const begin = Date.now() - (20_000_000 - from) * MILLISECONDS
  for (let done = 0; done < (to - from) / DELIVERIES_EACH; done += AT_ONCE) {
    const events = Array.from({ length: AT_ONCE }, (_, index) => {
      const at = begin + (done + index) * DELIVERIES_EACH * MILLISECONDS
      const { id: customerId, keyId } = suppliers[index % suppliers.length] as Supplier
      const ids = { refusalId: newId(at, systemRandom), requestId: randomUUID() }
      const details = { errorCode: 'PRODUCT_NOT_AUTHORIZED', message: 'This API key may not deliver: SKU-1.' }
      const common = { actor: 'api', action: 'delivery.refused', orderId: `PO-${index}`, address: '192.0.2.1', details }
      return { at, customerId, keyId, ...ids, ...common }
    })
    await store.audit.append(events)
  }
  await store.close()
}
