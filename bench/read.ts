import { randomUUID } from 'node:crypto'
import { loadConfig } from '#src/config/load-config.ts'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import { createCustomers } from '#src/customer/customer.rule.ts'
import { systemClock } from '#src/lib/clock.ts'
import { newId, systemRandom } from '#src/lib/random.ts'
import { passwords } from '#src/login/hashing.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import { runSql } from '../test/support/postgres/postgres-server.ts'
import { createGet } from './get.ts'
import type { BenchOptions } from './options.ts'
import { compareCosts, type PageKind, startBare } from './page-costs.ts'
import { printTimes } from './read-times.ts'
import { say } from './report.ts'
import { syncDisk } from './server-process.ts'
import { OTHER_FIELDS } from './shapes.ts'
import { countByHour, startTeslim } from './teslim-server.ts'

const CUSTOMERS = 20
const PASSWORD = randomUUID()
const AT_ONCE = 2000

/** How long what came in takes to be read back, one request at a time, with many deliveries stored; and what it costs beside a bare SELECT. */
export async function benchRead(options: BenchOptions): Promise<void> {
  const { folder, databaseUrl, data, most, rounds, postgres } = options
  const { emails, customerId, apiKey } = await fill(databaseUrl, most)
  // Done now so that the measurement does not include what follows so much writing: vacuum, statistics and checkpoint.
  if (postgres) for (const statement of ['VACUUM ANALYZE', 'CHECKPOINT']) await runSql(databaseUrl, statement)
  await countByHour(databaseUrl)
  await syncDisk()
  const others = await startBare(folder, databaseUrl, customerId)
  const teslim = await startTeslim(folder, databaseUrl)
  try {
    const tokens = await logIn(teslim.url, emails)
    await measure(teslim.url, tokens, { most, rounds, folder: data })
    await compareCosts([teslim, ...others], pagesOf(tokens, apiKey), rounds)
  } finally {
    await teslim.stop()
    for (const other of others) await other.stop()
  }
}

/** Pages of the operator, and of the customer whose rows a bare server answers with, too. */
function pagesOf([operator, one]: readonly string[], ApiKey: string): PageKind[] {
  const [operators, customers] = [operator, one].map((token) => ({ authorization: `Bearer ${token}` }))
  const orders = Array.from({ length: 40 }, (_, index) => `PO-${index * CUSTOMERS + 1}`)
  return [
    { name: 'feed of 100', paths: '/Purchase/feed?limit=100', headers: operators ?? {} },
    { name: 'list of 50, first page', paths: ['/Purchase/list?limit=50'], headers: customers ?? {} },
    { name: 'list of 50, page after page', paths: '/Purchase/list?limit=50', headers: customers ?? {} },
    { name: 'detail', paths: orders.map((id) => `/Purchase/detail/${id}`), headers: customers ?? {} },
    { name: 'supplier, 50, page after page', paths: '/Supplier/deliveries?limit=50', headers: { ApiKey } },
  ]
}

/** Two deliveries an order, of customers in turn, as suppliers number them; and one order of 10,000. */
async function fill(databaseUrl: string, most: number) {
  const { store } = await openStore(loadConfig({ DATABASE_URL: databaseUrl }).config, Date.now())
  const parts = { store, clock: systemClock, random: systemRandom }
  const customers = createCustomers({ ...parts, hashPassword: passwords.hash })
  const added: { id: string; email: string }[] = []
  for (let number = 0; number < CUSTOMERS; number++) {
    const email = `reader-${number}@example.com`
    const more = { isApi: true, ...(number === 0 && { scope: 'operator' as const }), regions: ['TR'], authority: ['*'] }
    added.push((await customers.add({ email, password: PASSWORD, ...more })).customer)
  }
  const deliver = (customer: number, orderId: string, status: number): Promise<unknown> => {
    const receivedAt = Date.now()
    const payload = Buffer.from(`{"OrderID":"${orderId}","Status":${status},"at":${performance.now()}${OTHER_FIELDS}`)
    const receiptId = newId(receivedAt, systemRandom)
    const customerId = added[customer]?.id ?? ''
    return store.deliveries.deliver({
      receiptId,
      customerId,
      orderId,
      status,
      receivedAt,
      payload,
      idempotency: null,
      origin: null,
    })
  }
  for (let done = 0; done < most; done += AT_ONCE) {
    const batch = Array.from({ length: AT_ONCE }, (_, index) => done + index)
    await Promise.all(batch.map((n) => deliver(Math.floor(n / 2) % CUSTOMERS, `PO-${Math.floor(n / 2)}`, 1 + (n % 2))))
    if (done % 100_000 === 0)
      process.stderr.write(`\r${((done + AT_ONCE) / 1e6).toFixed(2)} of ${most / 1e6} million stored `)
  }
  const customerId = added[1]?.id ?? ''
  const { key: apiKey } = await createApiKeys({ ...parts, customers }).issue(customerId, 'bench')
  await fillLong(store, deliver)
  process.stderr.write('\r')
  return { emails: added.map(({ email }) => email), customerId, apiKey }
}

async function fillLong(
  store: Store,
  deliver: (customer: number, orderId: string, status: number) => Promise<unknown>,
) {
  await Promise.all(Array.from({ length: 10_000 }, (_, n) => deliver(1, 'long', n % 4)))
  await store.close()
}

async function logIn(url: string, emails: readonly string[]): Promise<string[]> {
  const tokens: string[] = []
  for (const Email of emails) {
    const body = JSON.stringify({ Email, Password: PASSWORD })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${url}/Login/Customer/Api/Verify`, { method: 'POST', headers, body })
    tokens.push(((await answer.json()) as { data: { Token: string } }).data.Token)
  }
  return tokens
}

async function measure(
  url: string,
  tokens: readonly string[],
  { most, rounds, folder }: Pick<BenchOptions, 'most' | 'rounds' | 'folder'>,
): Promise<void> {
  const [operator = '', one = ''] = tokens
  const send = createGet(url)
  const get = (token: string, path: string): Promise<{ data: { NextCursor: string } }> =>
    send(path, { authorization: `Bearer ${token}` })
  const orderOf = (customer: number): string => {
    const mine = Math.floor((Math.random() * most) / 2 / CUSTOMERS)
    return `PO-${mine * CUSTOMERS + customer}`
  }
  const any = (): number => 1 + Math.floor(Math.random() * (CUSTOMERS - 1))
  /** Each request goes on where the one before ended. */
  const walking = (token: string, path: string) => {
    let cursor: string | null = null
    return async () => {
      cursor = (await get(token, cursor === null ? path : `${path}&cursor=${cursor}`)).data.NextCursor
    }
  }
  const detail = (query: string) => () => {
    const customer = any()
    return get(tokens[customer] ?? '', `/Purchase/detail/${orderOf(customer)}${query}`)
  }
  const kinds: Record<string, () => Promise<unknown>> = {
    'nothing (/livez)': () => get(one, '/livez'),
    'list, first page': () => get(tokens[any()] ?? '', '/Purchase/list'),
    'list, page after page': walking(one, '/Purchase/list?limit=50'),
    'list of 100': walking(one, '/Purchase/list?limit=100'),
    'list, all customers': walking(operator, '/Purchase/list?limit=50'),
    'list, of a status that none has': walking(one, '/Purchase/list?status=0'),
    'list, of a day without any': walking(one, '/Purchase/list?to=2026-01-01'),
    'list, of a product that none names': walking(one, '/Purchase/list?product=none'),
    'list, one order of any customer': () => get(operator, `/Purchase/list?orderId=${orderOf(any())}`),
    detail: detail(''),
    'detail with payloads': detail('?payload=full'),
    'detail, 100 of 10,000': walking(one, '/Purchase/detail/long?limit=100'),
  }
  say(`${most / 1e6} million deliveries of ${CUSTOMERS} customers`)
  await printTimes(kinds, { rounds, folder })
}
