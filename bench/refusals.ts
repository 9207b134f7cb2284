import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { loadConfig } from '#src/config/load-config.ts'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import { createCustomers } from '#src/customer/customer.rule.ts'
import { systemClock } from '#src/lib/clock.ts'
import { newId } from '#src/lib/ids.ts'
import { systemRandom } from '#src/lib/random.ts'
import { passwords } from '#src/login/password-hashing.ts'
import { openStore } from '#src/store/open-store.ts'
import { runSql, startPostgres } from '../test/support/postgres-server.ts'
import { createGet } from './get.ts'
import type { Load } from './load.ts'
import type { BenchOptions } from './options.ts'
import { printTimes } from './read-times.ts'
import { syncDisk } from './server-process.ts'
import { startTeslim } from './teslim-server.ts'

const SUPPLIERS = 20
const AT_ONCE = 2000
/** One refusal in so many has its body kept. */
const WITH_BODY = 50
const BODY = Buffer.from(`{"OrderID":"PO-1","Status":"2","text":"${'x'.repeat(350)}"}`)

interface Supplier {
  readonly id: string
  readonly keyId: string
  readonly key: string
}

/** How long suppliers take to read what was refused, one request at a time, with many refusals stored. */
export async function benchRefusals(_load: Load, { folder, most, rounds, postgres }: BenchOptions): Promise<void> {
  const server = postgres ? await startPostgres() : undefined
  const databaseUrl = server?.url ?? `sqlite:${join(folder, 'teslim.db')}`
  try {
    const suppliers = await fill(databaseUrl, most)
    if (server) for (const statement of ['VACUUM ANALYZE', 'CHECKPOINT']) await runSql(server.url, statement)
    await syncDisk()
    // Else it would count all those refusals by hour meanwhile.
    const teslim = await startTeslim(folder, databaseUrl, 'teslim', { TESLIM_ROLL_UPS: 'off' })
    try {
      await measure(teslim.url, suppliers, { most, rounds, folder: server?.data ?? folder })
    } finally {
      await teslim.stop()
    }
  } finally {
    await server?.remove()
  }
}

/** Refusals of suppliers in turn, ten milliseconds apart. */
async function fill(databaseUrl: string, most: number): Promise<Supplier[]> {
  const { store } = await openStore(loadConfig({ DATABASE_URL: databaseUrl }).config, Date.now())
  const customers = createCustomers({ store, clock: systemClock, random: systemRandom, hashPassword: passwords.hash })
  const apiKeys = createApiKeys({ store, customers, clock: systemClock, random: systemRandom })
  const suppliers: Supplier[] = []
  for (let number = 0; number < SUPPLIERS; number++) {
    const email = `supplier-${number}@example.com`
    const more = { isApi: true, operator: false, regions: ['TR'], authority: ['*'] }
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
    await store.refused.keep(bodies, { mostBytes: Number.MAX_SAFE_INTEGER, notKept: 0 })
    if (done % 100_000 === 0)
      process.stderr.write(`\r${((done + AT_ONCE) / 1e6).toFixed(2)} of ${most / 1e6} million stored `)
  }
  await store.close()
  process.stderr.write('\r')
  return suppliers
}

interface Answer {
  readonly data: {
    readonly Refusals: readonly { RefusalID: string; PayloadBytes?: number }[]
    NextCursor: string | null
  }
}

async function measure(
  url: string,
  suppliers: readonly Supplier[],
  { most, rounds, folder }: Pick<BenchOptions, 'most' | 'rounds' | 'folder'>,
): Promise<void> {
  const send = createGet(url)
  const get = (path: string, number = Math.floor(Math.random() * SUPPLIERS)): Promise<Answer> =>
    send(path, { ApiKey: suppliers[number]?.key ?? '' })
  /** Each request goes on where the one before ended. */
  const walking = (path: string) => {
    let cursor: string | null = null
    return async () => {
      cursor = (await get(cursor === null ? path : `${path}&cursor=${cursor}`, 0)).data.NextCursor
    }
  }
  const withBody = (await get('/Supplier/refusals?limit=100', 0)).data.Refusals.find((each) => each.PayloadBytes)
  const middle = new Date(Date.now() - 5 * most).toISOString()
  const kinds: Record<string, () => Promise<unknown>> = {
    'nothing (/livez)': () => get('/livez'),
    'first page': () => get('/Supplier/refusals'),
    'page after page': walking('/Supplier/refusals?limit=50'),
    'pages of 100': walking('/Supplier/refusals?limit=100'),
    'before a time': () => get(`/Supplier/refusals?to=${encodeURIComponent(middle)}`),
    'of one order': () => get(`/Supplier/refusals?orderId=PO-${Math.floor((Math.random() * most) / SUPPLIERS)}`),
    'of a code that none has': walking('/Supplier/refusals?code=NONE'),
    ...(withBody && { 'one body': () => get(`/Supplier/refusal/${withBody.RefusalID}/payload`, 0) }),
  }
  console.log(`${most / 1e6} million refusals of ${SUPPLIERS} suppliers`)
  await printTimes(kinds, { rounds, folder })
}
