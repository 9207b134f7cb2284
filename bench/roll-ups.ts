import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type MeasuredLoad, measured, WARM_UP_SECONDS } from './load.ts'
import { percentile } from './open-loop.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable, say } from './report.ts'
import { type BenchServer, startServer, syncDisk } from './server-process.ts'
import { addReader, BIN, prepareTeslim } from './teslim-server.ts'

/** Deliveries with and without counting by hour, in turn; then how long the counts of a year and 100 customers take to read. */
export async function benchRollUps({ load, folder, rounds, seconds, connections }: BenchOptions): Promise<void> {
  const sides = await Promise.all(
    (
      [
        ['off', [join(import.meta.dirname, 'serve-uncounted.ts')]],
        ['on', [BIN, 'serve']],
      ] as const
    ).map(async ([rollUps, program]) => {
      const databaseUrl = `sqlite:${folder}/${rollUps}.db`
      const { apiKey } = await prepareTeslim(databaseUrl)
      const env = { DATABASE_URL: databaseUrl, TESLIM_OPS_PORT: '0' }
      const server = await startServer(`teslim-${rollUps}`, program, folder, env)
      return { rollUps, apiKey, server, results: [] as MeasuredLoad[] }
    }),
  )
  say(`${load.generator}, ${connections} connections, ${rounds} rounds of ${seconds} s each, medians`)
  try {
    for (const { server, apiKey } of sides) await load.run(server.url, apiKey, connections, WARM_UP_SECONDS)
    for (let round = 0; round < rounds; round++) {
      for (const { server, apiKey, results } of round % 2 === 0 ? sides : sides.toReversed()) {
        await syncDisk()
        results.push(await measured(server, () => load.run(server.url, apiKey, connections, seconds)))
      }
    }
  } finally {
    for (const { server } of sides) await server.stop()
  }
  printTable(
    ['roll-ups', 'req/s', 'p99 ms', 'CPU us', 'failed'],
    sides.map(({ rollUps, results }) => [
      rollUps,
      median(results.map(({ perSecond }) => perSecond)).toFixed(0),
      median(results.map(({ p99 }) => p99)).toFixed(2),
      median(results.map((result) => result.microseconds)).toFixed(1),
      `${results.reduce((sum, { failed }) => sum + failed, 0)}`,
    ]),
  )
  const [off, on] = sides.map(({ results }) => results) as [MeasuredLoad[], MeasuredLoad[]]
  const pairs = (of: 'perSecond' | 'microseconds'): number =>
    median(on.map((result, round) => result[of] / (off[round]?.[of] ?? Number.NaN)))
  say(
    `on / off, by pairs: rate ${pairs('perSecond').toFixed(3)} (at least 0.95), CPU ${pairs('microseconds').toFixed(3)}`,
  )
  await benchReads(folder)
}

const HOUR = 3_600_000

/** 101 customers (0 stands for all), 8,760 hours, 4 Status values, with and without echoes. */
const FILL = (last: number): string => `
  WITH RECURSIVE hours (n) AS (SELECT ${last} - 8759 UNION ALL SELECT n + 1 FROM hours WHERE n < ${last}),
       customers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM customers WHERE n < 100),
       kinds (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM kinds WHERE n < 7)
  INSERT INTO delivery_hour (customer, hour, status, duplicate, count)
  SELECT c.n, h.n, k.n / 2, k.n % 2, 1000 + h.n % 1000 FROM hours h CROSS JOIN customers c CROSS JOIN kinds k`

async function benchReads(folder: string): Promise<void> {
  const path = `${folder}/year.db`
  const databaseUrl = `sqlite:${path}`
  const logIn = await addReader(databaseUrl, '--operator')
  const file = new DatabaseSync(path)
  file.exec(FILL(Math.floor(Date.now() / HOUR)))
  file.close()
  const env = { DATABASE_URL: databaseUrl, TESLIM_OPS_PORT: '0' }
  const server: BenchServer = await startServer('teslim-year', [BIN, 'serve'], folder, env)
  try {
    const headers = { authorization: `Bearer ${await logIn(server.url)}` }
    const from = (days: number): string => new Date(Date.now() - days * 24 * HOUR).toISOString()
    const queries = ['', `?from=${from(30)}`, `?by=day`, `?by=day&from=${from(364)}`]
    const rows: string[][] = []
    for (const query of queries) {
      const times: number[] = []
      for (let n = 0; n < 220; n++) {
        const start = performance.now()
        const answer = await fetch(`${server.url}/Purchase/stats${query}`, { headers })
        if (answer.status !== 200) throw new Error(await answer.text())
        await answer.arrayBuffer()
        if (n >= 20) times.push(performance.now() - start)
      }
      rows.push([query || '(default)', median(times).toFixed(2), percentile(times, 99).toFixed(2)])
    }
    printTable(['/Purchase/stats', 'p50 ms', 'p99 ms'], rows)
  } finally {
    await server.stop()
  }
}
