import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../test/support/postgres-server.ts'
import type { Load, LoadResult } from './load.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable } from './report.ts'
import { type BenchServer, startServer, syncDisk } from './server-process.ts'
import { prepareTeslim, startTeslim } from './teslim-server.ts'

const servers = join(import.meta.dirname, 'servers')
const REPLICAS = [1, 2, 4]

interface Contender {
  readonly name: string
  readonly servers: readonly BenchServer[]
}

/** Bare Fastify, an INSERT a request, and teslim with 1, 2 and 4 replicas, on one PostgreSQL server, in turn. */
export async function benchPostgres(load: Load, { folder, rounds, seconds, connections }: BenchOptions): Promise<void> {
  const given = process.env.TEST_DATABASE_URL
  const postgres = given ? { url: given, remove: async () => undefined } : await startPostgres()
  const started: BenchServer[] = []
  const start = async (server: Promise<BenchServer>): Promise<BenchServer> => {
    started.push(await server)
    return server
  }
  try {
    const { apiKey } = await prepareTeslim(postgres.url)
    const contenders: Contender[] = [
      { name: 'bare', servers: [await start(startServer('bare', [join(servers, 'bare.ts')], folder))] },
      {
        name: 'obvious',
        servers: [await start(startServer('obvious', [join(servers, 'obvious-postgres.ts'), postgres.url], folder))],
      },
    ]
    const replicas: BenchServer[] = []
    for (const count of REPLICAS) {
      if (count > 1 && availableParallelism() < 2 * count) {
        console.log(
          `${count} replicas are left out: they, the database and the load want more than the ${availableParallelism()} cores here`,
        )
        continue
      }
      while (replicas.length < count) {
        replicas.push(await start(startTeslim(folder, postgres.url, `teslim-${replicas.length}`)))
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

    console.log(`${load.generator}, ${connections} connections, ${rounds} rounds of ${seconds} s each, medians`)
    const results = new Map<Contender, LoadResult[]>(contenders.map((contender) => [contender, []]))
    for (const contender of contenders) await run(contender, 3)
    for (let round = 0; round < rounds; round++) {
      for (const [contender, list] of results) {
        await syncDisk()
        list.push(await run(contender, seconds))
      }
    }
    const of = (contender: Contender | undefined): LoadResult[] => (contender && results.get(contender)) ?? []
    const ratio = (one: Contender, other: Contender | undefined): string =>
      median(of(one).map((result, round) => result.perSecond / (of(other)[round]?.perSecond ?? 1))).toFixed(2)
    const [bare, obvious] = contenders
    const rows = contenders.map((contender) => [
      contender.name,
      median(of(contender).map(({ perSecond }) => perSecond)).toFixed(0),
      median(of(contender).map(({ p50 }) => p50)).toFixed(2),
      median(of(contender).map(({ p99 }) => p99)).toFixed(2),
      ratio(contender, bare),
      ratio(contender, obvious),
      `${of(contender).reduce((sum, { failed }) => sum + failed, 0)}`,
    ])
    printTable(['server', 'req/s', 'p50 ms', 'p99 ms', 'of bare', 'of obvious', 'failed'], rows)
    console.log('one replica: at least 0.55 of bare and 2.5 of obvious')
  } finally {
    for (const server of started) await server.stop()
    await postgres.remove()
  }
}
