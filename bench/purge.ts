import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { loadConfig } from '#src/config/load-config.ts'
import { newId, systemRandom } from '#src/lib/random.ts'
import { openStore } from '#src/store/open-store.ts'
import { type OpenLoopResult, openLoop, percentile } from './open-loop.ts'
import type { BenchOptions } from './options.ts'
import { printTable, say } from './report.ts'
import { syncDisk } from './server-process.ts'
import { OTHER_FIELDS } from './shapes.ts'
import { BIN, prepareTeslim, startTeslim } from './teslim-server.ts'

const DAY = 86_400_000
const MAX_CONNECTIONS = 500

/** Removes a part of a store while deliveries come in at a fixed rate, and compares with the same rate alone. */
export async function benchPurge({ folder, seconds, most, old, rate: perSecond }: BenchOptions): Promise<void> {
  const path = join(folder, 'teslim.db')
  const databaseUrl = `sqlite:${path}`
  const { apiKey } = await prepareTeslim(databaseUrl)
  await fill(databaseUrl, most, old)
  const sizes = (): string =>
    [path, `${path}-wal`]
      .map((name) => `${((existsSync(name) ? statSync(name).size : 0) / 1e6).toFixed(0)} MB`)
      .join(' + ')
  const server = await startTeslim(folder, databaseUrl)
  const deliver = (): Promise<OpenLoopResult> =>
    openLoop({ url: server.url, apiKey, perSecond, seconds, mostConnections: MAX_CONNECTIONS })
  try {
    await deliver()
    await syncDisk()
    const alone = [await deliver(), await deliver()]
    say(`${most} deliveries, ${old} of them to be removed; file and log: ${sizes()}`)
    const start = performance.now()
    const env = { PATH: process.env.PATH ?? '', DATABASE_URL: databaseUrl }
    const purge = spawn(process.execPath, [BIN, 'purge', '--older', '400d', '--json'], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const printed = text(purge.stdout)
    const ended = once(purge, 'exit')
    const meanwhile: OpenLoopResult[] = []
    do meanwhile.push(await deliver())
    while (purge.exitCode === null && purge.signalCode === null)
    await ended
    const took = (performance.now() - start) / 1000
    const came = meanwhile.reduce((sum, each) => sum + each.taken.length, 0)
    say(`${(await printed).trim()} within ${took.toFixed(0)} s`)
    say(`${came} came in meanwhile; file and log: ${sizes()}`)
    // The last round went on after the end.
    const during = meanwhile.length > 1 ? meanwhile.slice(0, -1) : meanwhile
    const rows: readonly (readonly [string, readonly OpenLoopResult[]])[] = [
      ['alone', alone],
      ['purging', during],
      ['afterwards', [await deliver()]],
    ]
    const rateOf = (results: readonly OpenLoopResult[]): number =>
      results.reduce((sum, each) => sum + each.taken.length, 0) / (results.length * seconds)
    printTable(
      ['', 'taken a second', 'refused', 'p50 ms', 'p99 ms', 'max ms'],
      rows.map(([name, results]) => {
        const times = results.flatMap(({ taken }) => taken)
        const refused = results.reduce((sum, each) => sum + each.refused.length + each.unsent, 0)
        const percents = [50, 99, 100].map((percent) => percentile(times, percent).toFixed(1))
        return [name, rateOf(results).toFixed(0), `${refused}`, ...percents]
      }),
    )
    say(`ratio ${(rateOf(during) / rateOf(alone)).toFixed(3)}`)
  } finally {
    await server.stop()
  }
}

/** Each order has one old delivery, and later ones. */
async function fill(databaseUrl: string, most: number, old: number): Promise<void> {
  const now = Date.now()
  const { store } = await openStore(loadConfig({ DATABASE_URL: databaseUrl }).config, now)
  const customerId = (await store.customers.list({ limit: 1 }))[0]?.id ?? ''
  const AT_ONCE = 4000
  for (let n = 0; n < most; n += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, most - n) }, (_, index) => {
      const number = n + index
      const receivedAt = now - (number < old ? 500 : 1) * DAY + Math.floor(number / 100)
      const orderId = `filled-${number % old}`
      const status = Math.floor(number / old) % 4
      const payload = Buffer.from(`{"OrderID":"${orderId}","Status":${status}${OTHER_FIELDS}`)
      const receiptId = newId(receivedAt, systemRandom)
      return { receiptId, customerId, orderId, status, receivedAt, payload, idempotency: null, origin: null }
    })
    await Promise.all(some.map((each) => store.deliveries.deliver(each)))
    if (n % 100_000 === 0) process.stderr.write(`\r${(n / 1e6).toFixed(1)} of ${most / 1e6} million stored `)
  }
  process.stderr.write('\r')
  await store.close()
}
