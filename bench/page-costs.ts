import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { runSql } from '../test/support/postgres/postgres-server.ts'
import { createGetText } from './get.ts'
import { percentile } from './open-loop.ts'
import { median, printTable, say } from './report.ts'
import { type BenchServer, startServer } from './server-process.ts'

/** A page, and who asks for it. */
export interface PageKind {
  readonly name: string
  /** One after the other, or the first of pages that each go on from the one before. */
  readonly paths: readonly string[] | string
  readonly headers: Readonly<Record<string, string>>
}

interface Cost {
  /** Processor time of all threads for each answer. */
  readonly microseconds: number
  readonly p50: number
}

type Compared = readonly [bare: BenchServer, least: BenchServer]

const CONNECTIONS = [1, 8]
const REQUESTS = 400
const WARM_UP = 2000
const PAGES = 40
const AIM = 1.5

/** Starts the two servers that pages are compared with, on the same rows. Their table has an index for what one supplier delivered. */
export async function startBare(folder: string, databaseUrl: string, customerId: string): Promise<Compared> {
  const index = 'CREATE INDEX of_customer ON bare_delivery (customer, position)'
  let store = databaseUrl
  if (databaseUrl.startsWith('postgres:')) {
    const copy = 'CREATE TABLE bare_delivery AS SELECT * FROM delivery'
    const key = 'ALTER TABLE bare_delivery ADD PRIMARY KEY (position)'
    for (const sql of [copy, key, index, 'VACUUM ANALYZE bare_delivery']) await runSql(databaseUrl, sql)
  } else {
    store = join(folder, 'bare.db')
    copyFileSync(databaseUrl.slice('sqlite:'.length), store)
    const copy = new DatabaseSync(store)
    copy.exec(`ALTER TABLE delivery RENAME TO bare_delivery; ${index}`)
    copy.close()
  }
  const start = (name: string): Promise<BenchServer> =>
    startServer(name, [join(import.meta.dirname, 'servers/bare-reads.ts'), store, customerId, name], folder)
  return [await start('bare'), await start('least')]
}

/** What pages cost teslim and the servers that it is compared with: in turn, as many connections ask as soon as they have an answer. */
export async function compareCosts(
  servers: readonly [teslim: BenchServer, ...Compared],
  kinds: readonly PageKind[],
  rounds: number,
): Promise<void> {
  const pages = await Promise.all(servers.map(({ url }) => Promise.all(kinds.map((kind) => pathsOf(url, kind)))))
  const rows: string[][] = []
  for (const connections of CONNECTIONS) {
    const gets = servers.map(({ url }) => createGetText(url, connections))
    for (const [index, { name, headers }] of kinds.entries()) {
      const costs: readonly Cost[][] = servers.map(() => [])
      const measure = async (side: number, requests: number): Promise<Cost> => {
        const used = (servers[side] as BenchServer).meter()
        const get = (path: string) => gets[side]?.(path, headers)
        const times = await closedLoop(get, pages[side]?.[index] ?? [], connections, requests)
        return { microseconds: (used().milliseconds * 1000) / requests, p50: percentile(times, 50) }
      }
      const sides = [...servers.keys()]
      for (const side of sides) await measure(side, WARM_UP)
      for (let round = 0; round < rounds; round++)
        for (const side of round % 2 === 0 ? sides : sides.toReversed())
          costs[side]?.push(await measure(side, REQUESTS))
      rows.push([name, `${connections}`, ...compared(costs, 'microseconds', 0), ...compared(costs, 'p50', 2)])
    }
  }
  say(`\nclosed loop, medians of ${rounds} rounds of ${REQUESTS}; bare is one SELECT through Fastify without a token`)
  say('least also looks for the token, reads whether an account has changed, has files read by a thread, and logs')
  const all = (of: string): string[] => [`${of}: teslim`, 'bare', 'least', 'to bare', 'to least']
  printTable(['page', 'connections', ...all('us of processor'), ...all('p50 ms')], rows)
  say(`aim: at most ${AIM} times the processor time of bare`)
}

/** The ratios are those of rounds side by side. */
function compared(costs: readonly Cost[][], of: keyof Cost, digits: number): string[] {
  const [teslim = [], ...others] = costs
  const ratioTo = (other: readonly Cost[]): number =>
    median(teslim.map((cost, round) => cost[of] / (other[round]?.[of] ?? Number.NaN)))
  return [
    ...costs.map((each) => median(each.map((cost) => cost[of])).toFixed(digits)),
    ...others.map((other) => ratioTo(other).toFixed(2)),
  ]
}

async function pathsOf(url: string, { paths, headers }: PageKind): Promise<readonly string[]> {
  if (typeof paths !== 'string') return paths
  const get = createGetText(url)
  const walked = [paths]
  for (let path = paths; walked.length < PAGES; walked.push(path)) {
    const cursor = /"NextCursor":"([^"]+)"/.exec(await get(path, headers))?.[1]
    if (cursor === undefined) break
    path = `${paths}&${paths.includes('/feed') ? 'after' : 'cursor'}=${encodeURIComponent(cursor)}`
  }
  return walked
}

async function closedLoop(
  get: (path: string) => Promise<string> | undefined,
  paths: readonly string[],
  connections: number,
  requests: number,
): Promise<number[]> {
  const times: number[] = []
  let sent = 0
  const ask = async (): Promise<void> => {
    while (sent < requests) {
      const start = performance.now()
      await get(paths[sent++ % paths.length] ?? '')
      times.push(performance.now() - start)
    }
  }
  await Promise.all(Array.from({ length: connections }, ask))
  return times
}
