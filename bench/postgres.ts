import { availableParallelism } from 'node:os'
import { runSql } from '../test/support/postgres/postgres-server.ts'
import { POSTGRES_STARTS } from './contenders.ts'
import { type LoadResult, type MeasuredLoad, measured, WARM_UP_SECONDS } from './load.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable, say } from './report.ts'
import { type BenchServer, databaseMilliseconds, syncDisk } from './server-process.ts'
import { prepareTeslim, startTeslim } from './teslim-server.ts'

const REPLICAS = [1, 2, 4]

interface Contender {
  readonly name: string
  readonly servers: readonly BenchServer[]
}

/** Bare Fastify, the least that storing costs, an INSERT a request, and teslim with 1, 2 and 4 replicas, on one PostgreSQL server, in turn. */
export async function benchPostgres(options: BenchOptions): Promise<void> {
  const { load, folder, databaseUrl, data, rounds, seconds, connections, shape } = options
  const started: BenchServer[] = []
  const start = async (server: Promise<BenchServer>): Promise<BenchServer> => {
    started.push(await server)
    return server
  }
  try {
    const { apiKey } = await prepareTeslim(databaseUrl)
    const contenders: Contender[] = []
    for (const name of ['bare', 'least', 'obvious'] as const)
      contenders.push({ name, servers: [await start(POSTGRES_STARTS[name](folder, databaseUrl))] })
    const replicas: BenchServer[] = []
    for (const count of REPLICAS) {
      if (count > 1 && availableParallelism() < 2 * count) {
        say(
          `${count} replicas are left out: they, the database and the load want more than the ${availableParallelism()} cores here`,
        )
        continue
      }
      while (replicas.length < count) {
        replicas.push(await start(startTeslim(folder, databaseUrl, `teslim-${replicas.length}`)))
      }
      contenders.push({ name: `teslim, ${count} replica${count > 1 ? 's' : ''}`, servers: replicas.slice() })
    }

    /** The connections are shared out among the replicas. */
    const run = async ({ servers }: Contender, time: number): Promise<LoadResult> => {
      const share = Math.ceil(connections / servers.length)
      const results = await Promise.all(servers.map(({ url }) => load.run(url, apiKey, share, time)))
      const sum = (of: keyof LoadResult): number => results.reduce((total, result) => total + result[of], 0)
      const worst = (of: keyof LoadResult): number => Math.max(...results.map((result) => result[of]))
      return {
        perSecond: sum('perSecond'),
        p50: worst('p50'),
        p99: worst('p99'),
        failed: sum('failed'),
        answered: sum('answered'),
      }
    }

    say(shape.description)
    say(`${load.generator}, ${connections} connections, ${rounds} rounds of ${seconds} s each, medians`)
    for (const contender of contenders) await run(contender, WARM_UP_SECONDS)
    for (const state of ['a new database', 'after VACUUM ANALYZE']) {
      const results = new Map<Contender, Round[]>(contenders.map((contender) => [contender, []]))
      for (let round = 0; round < rounds; round++) {
        for (const [contender, list] of results) {
          await syncDisk()
          list.push(await measuredRound(contender, data, () => run(contender, seconds)))
        }
      }
      say(`\n${state}`)
      printResults(results)
      await runSql(databaseUrl, 'VACUUM ANALYZE')
    }
    say('one replica: at least 0.60 of bare, p99 at most 3 times; at least 0.85 of least, p99 at most 1.5 times')
  } finally {
    for (const server of started) await server.stop()
  }
}

interface Round extends MeasuredLoad {
  readonly databaseMicroseconds: number
}

/** `data` is the folder of the database's server. */
async function measuredRound({ servers }: Contender, data: string, run: () => Promise<LoadResult>): Promise<Round> {
  const all = { cpuMilliseconds: () => servers.reduce((sum, server) => sum + server.cpuMilliseconds(), 0) }
  const before = databaseMilliseconds(data)
  const result = await measured(all, run)
  return { ...result, databaseMicroseconds: ((databaseMilliseconds(data) - before) * 1000) / result.answered }
}

function printResults(results: ReadonlyMap<Contender, readonly Round[]>): void {
  const [bare = [], least = [], obvious = []] = results.values()
  const middle = (rounds: readonly Round[], of: keyof Round): number => median(rounds.map((each) => each[of]))
  const ratio = (one: readonly Round[], other: readonly Round[]): string =>
    median(one.map(({ perSecond }, round) => perSecond / (other[round]?.perSecond ?? 1))).toFixed(2)
  const rows = Array.from(results, ([{ name }, rounds]) => [
    name,
    middle(rounds, 'perSecond').toFixed(0),
    middle(rounds, 'p50').toFixed(2),
    middle(rounds, 'p99').toFixed(2),
    middle(rounds, 'microseconds').toFixed(0),
    middle(rounds, 'databaseMicroseconds').toFixed(0),
    ratio(rounds, bare),
    (middle(rounds, 'p99') / middle(bare, 'p99')).toFixed(1),
    ratio(rounds, least),
    (middle(rounds, 'p99') / middle(least, 'p99')).toFixed(1),
    ratio(rounds, obvious),
    `${rounds.reduce((sum, { failed }) => sum + failed, 0)}`,
  ])
  const ratios = ['of bare', 'p99 to bare', 'of least', 'p99 to least', 'of obvious']
  const columns = ['us of processor each', 'of the database', ...ratios, 'failed']
  printTable(['server', 'req/s', 'p50 ms', 'p99 ms', ...columns], rows)
}
