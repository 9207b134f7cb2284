import type { Load } from './load.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable } from './report.ts'
import { type BenchServer, syncDisk } from './server-process.ts'
import { prepareTeslim, startTeslim } from './teslim-server.ts'

const THREADS = [1, 2, 3]
const CORES = 4

interface Measured {
  readonly perSecond: number
  readonly p99: number
  /** Microseconds of processor time a delivery: of the threads that take requests, of the writer, and of all. */
  readonly requests: number
  readonly writer: number
  readonly all: number
}

/** Deliveries to one, two and three threads in turn, and what four cores would take by the processor time of each kind of thread. */
export async function benchThreads(load: Load, { folder, rounds, seconds, connections }: BenchOptions): Promise<void> {
  const databaseUrl = `sqlite:${folder}/teslim.db`
  const { apiKey } = await prepareTeslim(databaseUrl)
  const results = new Map<number, Measured[]>(THREADS.map((threads) => [threads, []]))
  console.log(`${load.generator}, ${connections} connections, ${rounds} rounds of ${seconds} s each, medians`)
  for (let round = 0; round < rounds; round++) {
    for (const [threads, list] of results) {
      const server = await startTeslim(folder, databaseUrl, 'teslim', { TESLIM_HTTP_THREADS: `${threads}` })
      try {
        await load.run(server.url, apiKey, connections, 3)
        await syncDisk()
        list.push(await measure(server, () => load.run(server.url, apiKey, connections, seconds)))
      } finally {
        await server.stop()
      }
    }
  }
  const middle = (threads: number, of: (one: Measured) => number): number =>
    median((results.get(threads) ?? []).map(of))
  const possible = (threads: number): number => middle(threads, (one) => possibleRate(one, threads))
  printTable(
    [
      'threads',
      'req/s here',
      'p99 ms',
      'us requests',
      'us writer',
      'us all',
      `req/s on ${CORES} cores`,
      'of one thread',
    ],
    THREADS.map((threads) => [
      `${threads}`,
      middle(threads, ({ perSecond }) => perSecond).toFixed(0),
      middle(threads, ({ p99 }) => p99).toFixed(1),
      middle(threads, ({ requests }) => requests).toFixed(1),
      middle(threads, ({ writer }) => writer).toFixed(1),
      middle(threads, ({ all }) => all).toFixed(1),
      possible(threads).toFixed(0),
      (possible(threads) / possible(1)).toFixed(2),
    ]),
  )
}

/** Each thread has a core, as far as there are cores; the load generator has others. */
const possibleRate = ({ requests, writer, all }: Measured, threads: number): number =>
  1_000_000 * Math.min(threads / requests, 1 / writer, CORES / all)

async function measure(server: BenchServer, run: () => ReturnType<Load['run']>): Promise<Measured> {
  const before = server.threadMilliseconds()
  const { answered, perSecond, p99 } = await run()
  const after = server.threadMilliseconds()
  const each = (isWanted: (name: string) => boolean): number => {
    const sum = (times: ReadonlyMap<string, number>): number =>
      [...times].reduce((total, [name, time]) => (isWanted(name) ? total + time : total), 0)
    return ((sum(after) - sum(before)) * 1000) / answered
  }
  return {
    perSecond,
    p99,
    requests: each((name) => name === 'http' || name.endsWith('MainThread')),
    writer: each((name) => name === 'writer'),
    all: each(() => true),
  }
}
