import { runSql } from '../test/support/postgres/postgres-server.ts'
import { addSuppliers, BIG_EMAIL, type Filling, fillStore, PASSWORD, START, type Supplier } from './fill-store.ts'
import { createGet } from './get.ts'
import type { BenchOptions } from './options.ts'
import { printTimes } from './read-times.ts'
import { say } from './report.ts'
import { syncDisk } from './server-process.ts'
import { countByHour, startTeslim } from './teslim-server.ts'

const SUPPLIERS = 1000

const RARE = 'n % 50000 = 7'

/** Two deliveries an order. The first supplier has half of the deliveries, the second one 100 of 5 million, the others the rest. */
const FILLING: Filling = {
  whose: `CASE WHEN ${RARE} THEN 2 WHEN (n / 2) % 2 = 0 THEN 1 ELSE 3 + ((n / 4) * 7919) % ${SUPPLIERS - 2} END`,
  order: `CASE WHEN ${RARE} THEN 'R-' || n ELSE 'PO-' || (n / 2) END`,
  previous: `CASE WHEN n % 2 = 1 AND NOT ${RARE} THEN n - 1 END`,
  isLast: 'n % 2 = 1 OR n % 50000 = 6',
  status: 'n % 3',
  milliseconds: 1000,
}

/** How long suppliers take to read what they delivered, one request at a time, with many deliveries of many suppliers stored. */
export async function benchSupplier(options: BenchOptions): Promise<void> {
  const { folder, databaseUrl, data, most, rounds, postgres } = options
  const suppliers = await addSuppliers(databaseUrl, SUPPLIERS, 3)
  await fillStore(databaseUrl, FILLING, 0, most)
  if (postgres) for (const statement of ['VACUUM ANALYZE', 'CHECKPOINT']) await runSql(databaseUrl, statement)
  await countByHour(databaseUrl)
  await syncDisk()
  const teslim = await startTeslim(folder, databaseUrl)
  try {
    await measure(teslim.url, { suppliers, most, rounds, folder: data })
  } finally {
    await teslim.stop()
  }
}

interface Measured {
  readonly suppliers: readonly Supplier[]
  readonly most: number
  readonly rounds: number
  /** Where the store is. */
  readonly folder: string
}

async function measure(url: string, { suppliers, most, rounds, folder }: Measured): Promise<void> {
  const login = await fetch(`${url}/Login/Customer/Api/Verify`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ Email: BIG_EMAIL, Password: PASSWORD }),
  })
  const authorization = `Bearer ${((await login.json()) as { data: { Token: string } }).data.Token}`
  const send = createGet(url)
  const get = async (path: string, headers: Record<string, string>): Promise<string | null> =>
    (await send<{ data: { NextCursor: string | null } }>(path, headers)).data.NextCursor
  /** Each request goes on where the one before ended. */
  const walking = (path: string, headers: Record<string, string>) => {
    let cursor: string | null = null
    return async () => {
      cursor = await get(cursor === null ? path : `${path}&cursor=${cursor}`, headers)
    }
  }
  const day = (number: number): string => new Date(START + number * 86_400_000).toISOString().slice(0, 10)
  const middle = Math.floor(most / 2 / 86_400)
  const queries = {
    'first page': '/Supplier/deliveries?limit=50',
    'page after page': '/Supplier/deliveries?limit=50',
    'page after page, 100': '/Supplier/deliveries?limit=100',
    'of a status': '/Supplier/deliveries?status=1',
    'of a status that none has': '/Supplier/deliveries?status=3',
    'of a day in the middle': `/Supplier/deliveries?from=${day(middle)}&to=${day(middle + 1)}`,
    'of a day without any': '/Supplier/deliveries?to=2026-01-01',
    'of a product': '/Supplier/deliveries?product=SKU-7',
    'of a product that none names': '/Supplier/deliveries?product=none',
  }
  const [big = '', rare = '', usual = ''] = suppliers.map(({ key }) => key)
  const kinds: Record<string, () => Promise<unknown>> = { 'nothing (/livez)': () => get('/livez', {}) }
  for (const [name, ApiKey] of Object.entries({ big, rare, usual })) {
    for (const [what, path] of Object.entries(queries)) {
      kinds[`${name}: ${what}`] = what === 'first page' ? () => get(path, { ApiKey }) : walking(path, { ApiKey })
    }
  }
  kinds['big: one order'] = () => {
    const order = 4 * Math.floor((Math.random() * most) / 8)
    return get(`/Supplier/deliveries?orderId=PO-${order}`, { ApiKey: big })
  }
  kinds['big: orders, newest first'] = walking('/Purchase/list?order=newest', { authorization })
  say(`${most / 1e6} million deliveries of ${SUPPLIERS} suppliers`)
  await printTimes(kinds, { rounds, folder })
}
