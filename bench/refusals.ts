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
import type { Load } from './load.ts'
import type { BenchOptions } from './options.ts'
import { median, percentile, printTable } from './report.ts'
import { syncDisk } from './server-process.ts'
import { startTeslim } from './teslim-server.ts'

const SUPPLIERS = 20
const ROUNDS = 7
const REQUESTS = 300
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
export async function benchRefusals(_load: Load, { folder, most, postgres }: BenchOptions): Promise<void> {
  const server = postgres ? await startPostgres() : undefined
  const databaseUrl = server?.url ?? `sqlite:${join(folder, 'teslim.db')}`
  try {
    const suppliers = await fill(databaseUrl, most)
    if (server) for (const statement of ['VACUUM ANALYZE', 'CHECKPOINT']) await runSql(server.url, statement)
    await syncDisk()
    const teslim = await startTeslim(folder, databaseUrl)
    try {
      await measure(teslim.url, suppliers, most)
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

async function measure(url: string, suppliers: readonly Supplier[], most: number): Promise<void> {
  const get = async (path: string, number = Math.floor(Math.random() * SUPPLIERS)): Promise<Answer> => {
    const answer = await fetch(url + path, { headers: { ApiKey: suppliers[number]?.key ?? '' } })
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
    return answer.headers.get('content-type')?.startsWith('application/json')
      ? ((await answer.json()) as Answer)
      : (void (await answer.arrayBuffer()) as never)
  }
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
  const results = new Map<string, number[][]>(Object.keys(kinds).map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, request] of Object.entries(kinds)) results.get(name)?.push(await timesOf(request))
  }
  console.log(
    `${most / 1e6} million refusals of ${SUPPLIERS} suppliers; one request at a time, medians of ${ROUNDS} rounds of ${REQUESTS}`,
  )
  const of = (rounds: readonly number[][], part: number) => median(rounds.map((times) => percentile(times, part)))
  const rows = Array.from(results, ([name, rounds]) => [name, of(rounds, 0.5).toFixed(2), of(rounds, 0.99).toFixed(2)])
  printTable(['request', 'p50 ms', 'p99 ms'], rows)
}

async function timesOf(request: () => Promise<unknown>): Promise<number[]> {
  for (let warm = 0; warm < 20; warm++) await request()
  const times: number[] = []
  for (let done = 0; done < REQUESTS; done++) {
    const start = performance.now()
    await request()
    times.push(performance.now() - start)
  }
  return times
}
