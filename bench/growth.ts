import { copyFileSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { openDatabase } from '#src/store/sqlite/database.ts'
import { runSql } from '../test/support/postgres/postgres-server.ts'
import { addSuppliers, fillStore, PASSWORD, START, type Supplier } from './fill-store.ts'
import { CUSTOMERS, FILLING, fillRefusals, MILLISECONDS, PURGED, SMALL, SMALLEST } from './growth-filling.ts'
import { growthRequests, type Readers } from './growth-requests.ts'
import type { BenchOptions } from './options.ts'
import { readAll, timesOf } from './read-times.ts'
import { median, printTable, say } from './report.ts'
import { syncDisk } from './server-process.ts'
import { runCommand, runServer } from './start.ts'
import { addReader, BIN, countByHour, prepareTeslim, startTeslim } from './teslim-server.ts'

interface Grown {
  readonly size: number
  readonly databaseUrl: string
}

/** For each cost, by store, one value a round. */
type Costs = Map<string, Map<number, number[]>>

/** What reading, administration and deliveries cost in stores of several sizes, which are measured in turn. */
export async function benchGrowth(options: BenchOptions): Promise<void> {
  const { databaseUrl, most, postgres } = options
  if (postgres)
    for (const sql of ['ALTER SYSTEM SET autovacuum = off', 'SELECT pg_reload_conf()']) await runSql(databaseUrl, sql)
  const suppliers = await addSuppliers(databaseUrl, CUSTOMERS, 4)
  const { apiKey } = await prepareTeslim(databaseUrl)
  const readers = { suppliers, password: PASSWORD, logInOperator: await addReader(databaseUrl, '--operator') }
  const stores: Grown[] = []
  for (let [from, size] = [0, SMALLEST]; size <= Math.max(most, SMALLEST); [from, size] = [size, size * 10]) {
    await fillStore(databaseUrl, FILLING, from, size)
    await fillRefusals(databaseUrl, suppliers, from, size)
    await countByHour(databaseUrl)
    stores.push({ size, databaseUrl: await copyOf(databaseUrl, size, options) })
  }
  for (const statistics of ['without', 'with']) {
    if (statistics === 'with') for (const each of stores) await analyze(each.databaseUrl)
    await syncDisk()
    say(`\n${statistics} statistics`)
    const costs: Costs = new Map()
    await measureRequests(stores, readers, costs, options)
    await measureCommands(stores, suppliers, costs, options)
    printCosts(stores, costs)
  }
  // At the end: what these store is as much as the smallest store had, and reads walk through it.
  say('\nwith statistics, what changes the store')
  const costs: Costs = new Map()
  await measurePurge(stores, costs)
  await measureDeliveries(stores, apiKey, costs, options)
  printCosts(stores, costs)
}

/** The last one needs no copy. */
async function copyOf(databaseUrl: string, size: number, { folder, most, postgres }: BenchOptions): Promise<string> {
  if (size * 10 > most) return databaseUrl
  const name = `grown_${size}`
  if (!postgres) {
    const copy = join(folder, `${name}.db`)
    copyFileSync(join(folder, 'teslim.db'), copy)
    return `sqlite:${copy}`
  }
  const [copy, other] = [new URL(databaseUrl), new URL(databaseUrl)]
  copy.pathname = name
  other.pathname = 'template1'
  await runSql(other.href, `CREATE DATABASE ${name} TEMPLATE ${databaseUrl.split('/').at(-1)} STRATEGY file_copy`)
  return copy.href
}

const pathOf = (databaseUrl: string): string | undefined => /^sqlite:(.*)/.exec(databaseUrl)?.[1]

async function analyze(databaseUrl: string): Promise<void> {
  const path = pathOf(databaseUrl)
  if (path === undefined) return void (await runSql(databaseUrl, 'ANALYZE'))
  const database = openDatabase(path)
  database.script('ANALYZE')
  database.close()
}

function note(costs: Costs, name: string, store: number, cost: number): void {
  const rounds = costs.getOrInsertComputed(name, () => new Map()).getOrInsertComputed(store, () => [])
  rounds.push(cost)
}

/** Runs a server on each store, all at once. */
async function serving(stores: readonly Grown[], folder: string, work: (urls: string[]) => Promise<void>) {
  const servers: Awaited<ReturnType<typeof startTeslim>>[] = []
  try {
    for (const { databaseUrl, size } of stores)
      servers.push(await startTeslim(folder, databaseUrl, `teslim-${size}`, { TESLIM_OPS_PORT: '0' }))
    await work(servers.map(({ url }) => url))
  } finally {
    for (const server of servers) await server.stop()
  }
}

const REQUESTS = { requests: 200, warmUp: 50 }

/** Milliseconds until the answer, medians. */
const measureRequests = (stores: readonly Grown[], readers: Readers, costs: Costs, options: BenchOptions) =>
  serving(stores, options.folder, async (urls) => {
    const kinds = await Promise.all(
      stores.map(({ size }, index) => growthRequests(urls[index] as string, size, readers)),
    )
    for (let round = 0; round < options.rounds; round++) {
      readAll(options.data)
      for (const name of Object.keys(kinds[0] ?? {}) as (keyof (typeof kinds)[number])[])
        for (const [store, { [name]: request }] of kinds.entries())
          note(costs, name, store, (await timesOf(request, REQUESTS)).p50)
    }
  })

/** Milliseconds of processor time. */
async function measureCommands(
  stores: readonly Grown[],
  suppliers: readonly Supplier[],
  costs: Costs,
  { folder, rounds }: BenchOptions,
): Promise<void> {
  const teslim = { name: 'teslim', program: process.execPath, args: [BIN] }
  for (let round = 0; round < rounds; round++) {
    for (const [store, { databaseUrl }] of stores.entries()) {
      const settings = { DATABASE_URL: databaseUrl, TESLIM_OPS_PORT: '0' }
      const run = async (name: string, ...args: string[]): Promise<number> => {
        const { milliseconds } = await runCommand(teslim, args, settings)
        if (name !== '') note(costs, name, store, milliseconds)
        return milliseconds
      }
      note(costs, 'start of a server', store, (await runServer(teslim, folder, settings)).milliseconds)
      await run('doctor', 'doctor')
      await run('customer list', 'customer', 'list')
      await run('order show', 'order', 'show', 'PO-2')
      await run('key list', 'key', 'list', '--customer', suppliers[SMALL - 1]?.id ?? '')
      const path = pathOf(databaseUrl)
      if (round > 0 || path === undefined) continue
      const backups = join(folder, 'backups')
      mkdirSync(backups)
      note(
        costs,
        'backup, a GB',
        store,
        (await run('', 'backup', join(backups, 'teslim.db'))) / (statSync(path).size / 1e9),
      )
      rmSync(backups, { recursive: true })
    }
  }
}

const PURGE_STEPS = 20

/** Milliseconds of steps of 500 deliveries. */
async function measurePurge(stores: readonly Grown[], costs: Costs): Promise<void> {
  for (const [store, { databaseUrl }] of stores.entries()) {
    const opened = await openStore(loadConfig({ DATABASE_URL: databaseUrl }).config, Date.now())
    const { purges, close } = opened.store
    const [now, before] = [Date.now(), START + PURGED * MILLISECONDS]
    const page = {
      before,
      now,
      orders: false,
      unsent: true,
      until: await purges.endOf(before),
      scan: 500,
      dryRun: false,
    }
    let after = (await purges.state()).position
    for (let step = 0; step < PURGE_STEPS; step++) {
      const start = performance.now()
      after = (await purges.page({ ...page, after })).position ?? after
      note(costs, 'purge, 500 deliveries', store, performance.now() - start)
    }
    await close()
  }
}

/** Microseconds, under full load. */
const measureDeliveries = (stores: readonly Grown[], apiKey: string, costs: Costs, options: BenchOptions) =>
  serving(stores, options.folder, async (urls) => {
    const { load, connections, seconds, rounds } = options
    for (const url of urls) await load.run(url, apiKey, connections, 1)
    for (let round = 0; round < rounds; round++) {
      for (const [store, url] of urls.entries()) {
        await syncDisk()
        note(costs, 'a delivery, us', store, 1e6 / (await load.run(url, apiKey, connections, seconds)).perSecond)
      }
    }
  })

function printCosts(stores: readonly Grown[], costs: Costs): void {
  const rows = Array.from(costs, ([name, ofStores]) => {
    const all = stores.map((_, store) => ofStores.get(store) ?? [])
    const ratio = median((all.at(-1) ?? []).map((cost, round) => cost / (all[0]?.[round] ?? Number.NaN)))
    return [name, ...all.map((rounds) => median(rounds).toPrecision(3)), ratio.toFixed(2)]
  })
  printTable(['median ms', ...stores.map(({ size }) => `${size / 1e6} M`), 'ratio'], rows)
}
