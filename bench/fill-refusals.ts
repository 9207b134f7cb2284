import { randomUUID } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { loadConfig } from '#src/config/load-config.ts'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import { createCustomers } from '#src/customer/customer.rule.ts'
import { systemClock } from '#src/lib/clock.ts'
import { newId, systemRandom } from '#src/lib/random.ts'
import { passwords } from '#src/login/hashing.ts'
import { openStore } from '#src/store/open-store.ts'

export const SUPPLIERS = 20
const AT_ONCE = 2000
/** One refusal in so many has its body kept. */
const WITH_BODY = 50
const BODY = Buffer.from(`{"OrderID":"PO-1","Status":"2","text":"${'x'.repeat(350)}"}`)

export interface Supplier {
  readonly id: string
  readonly keyId: string
  readonly key: string
}

/** Refusals of suppliers in turn, ten milliseconds apart. */
async function fill(databaseUrl: string, most: number): Promise<Supplier[]> {
  const { store } = await openStore(loadConfig({ DATABASE_URL: databaseUrl }).config, Date.now())
  const customers = createCustomers({ store, clock: systemClock, random: systemRandom, hashPassword: passwords.hash })
  const apiKeys = createApiKeys({ store, customers, clock: systemClock, random: systemRandom })
  const suppliers: Supplier[] = []
  for (let number = 0; number < SUPPLIERS; number++) {
    const email = `supplier-${number}@example.com`
    const more = { isApi: true, regions: ['TR'], authority: ['*'] }
    const { customer } = await customers.add({ email, password: randomUUID(), ...more })
    const { key, view } = await apiKeys.issue(customer.id, 'bench')
    suppliers.push({ id: customer.id, keyId: view.id, key })
  }
  const begin = Date.now() - 10 * most
  const refusal = (n: number) => {
    const at = begin + 10 * n
    const { id: customerId, keyId } = suppliers[n % SUPPLIERS] as Supplier
    const orderId = `PO-${Math.floor(n / SUPPLIERS)}`
    const common = { at, customerId, keyId, orderId, refusalId: newId(at, systemRandom), requestId: randomUUID() }
    const told = { errorCode: 'PRODUCT_NOT_AUTHORIZED', message: `This API key may not deliver: SKU-${n}.` }
    return { ...common, ...told, address: '192.0.2.1' }
  }
  for (let done = 0; done < most; done += AT_ONCE) {
    const batch = Array.from({ length: AT_ONCE }, (_, index) => refusal(done + index))
    await store.audit.append(
      batch.map(({ errorCode, message, ...event }) => ({
        ...event,
        actor: 'api',
        action: 'delivery.refused',
        details: { errorCode, message },
      })),
    )
    const bodies = batch.filter((_, index) => index % WITH_BODY < 1).map((each) => ({ ...each, payload: BODY }))
    await store.refused.keep(bodies, { maxBytes: Number.MAX_SAFE_INTEGER, notKept: 0 })
    if (done % 100_000 === 0)
      process.stderr.write(`\r${((done + AT_ONCE) / 1e6).toFixed(2)} of ${most / 1e6} million stored `)
  }
  await store.close()
  process.stderr.write('\r')
  return suppliers
}

if (parentPort) parentPort.postMessage(await fill(workerData.databaseUrl, workerData.most))
