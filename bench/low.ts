import { join } from 'node:path'
import { withContenders, withPostgresContenders } from './contenders.ts'
import { openLoop, percentile } from './open-loop.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable, say } from './report.ts'
import { type BenchServer, syncDisk } from './server-process.ts'

const RATES = [20, 200, 1000, 4000]
const NAMES = ['bare', 'least', 'obvious-wal', 'teslim'] as const
const POSTGRES_NAMES = ['bare', 'least', 'obvious', 'teslim'] as const
const MAX_STARTS = 3

type Name = (typeof NAMES | typeof POSTGRES_NAMES)[number]
type Servers = Readonly<Partial<Record<Name, BenchServer>>>

/** First the code is compiled at a high rate, then the caches and the heap come to rest. */
const WARM_UP = [
  { perSecond: 4000, seconds: 5 },
  { perSecond: 1000, seconds: 4 },
]

interface Measured {
  readonly state: 'just started' | 'warm'
  readonly perSecond: number
  readonly name: Name
  readonly taken: number
  /** Processor time of all threads for each delivery. */
  readonly microseconds: number
  readonly toObvious: number
  readonly p50: number
  readonly p99: number
}

/** Deliveries at the rates of a small shop up to a large one, to servers that have just started, and to the same ones when they are warm. */
export async function benchLow(options: BenchOptions): Promise<void> {
  const { folder, rounds, seconds, connections, shape, postgres } = options
  const names = postgres ? POSTGRES_NAMES : NAMES
  const obviousName = postgres ? 'obvious' : 'obvious-wal'
  const measured: Measured[] = []
  const starts = Math.min(rounds, MAX_STARTS)
  for (let start = 0; start < starts; start++) {
    const work = async (servers: Servers, apiKey: string): Promise<void> => {
      const send = async (name: Name, rate: { readonly perSecond: number; readonly seconds: number }) => {
        const server = servers[name] as BenchServer
        return measureOne(server, { url: server.url, apiKey, mostConnections: connections, shape, ...rate })
      }
      /** The servers in turn, in the other order every other round. */
      const measureAll = async (state: Measured['state'], round: number): Promise<void> => {
        for (const perSecond of RATES) {
          const results = new Map<Measured['name'], Awaited<ReturnType<typeof send>>>()
          for (const name of round % 2 === 0 ? names : names.toReversed()) {
            await syncDisk()
            results.set(name, await send(name, { perSecond, seconds }))
          }
          const obvious = results.get(obviousName)?.microseconds ?? Number.NaN
          for (const [name, result] of results)
            measured.push({ state, perSecond, name, ...result, toObvious: result.microseconds / obvious })
        }
      }
      await measureAll('just started', start)
      for (const load of WARM_UP) for (const name of names) await send(name, load)
      for (let round = 0; round < rounds; round++) await measureAll('warm', round)
    }
    const place = join(folder, `start-${start}`)
    if (postgres) await withPostgresContenders(place, POSTGRES_NAMES, options, work)
    else await withContenders(place, NAMES, work)
  }
  say(
    `open loop, ${connections} connections, ${seconds} s each, medians: ${starts} starts, then ${rounds} rounds of each`,
  )
  report(measured, names, obviousName)
}

type Load = Omit<Parameters<typeof openLoop>[0], 'whenBusy' | 'begin'>

async function measureOne(server: BenchServer, load: Load) {
  let milliseconds = Number.NaN
  const begin = () => {
    const used = server.meter()
    return () => {
      milliseconds = used().milliseconds
    }
  }
  const { taken } = await openLoop({ ...load, whenBusy: 'wait', begin })
  const microseconds = (milliseconds * 1000) / taken.length
  return { taken: taken.length, microseconds, p50: percentile(taken, 50), p99: percentile(taken, 99) }
}

type Figure = 'taken' | 'microseconds' | 'toObvious' | 'p50' | 'p99'

function report(measured: readonly Measured[], names: readonly Name[], obviousName: Name): void {
  const middle = (of: Figure, state: Measured['state'], perSecond: number, name: Measured['name']): number =>
    median(
      measured
        .filter((one) => one.state === state && one.perSecond === perSecond && one.name === name)
        .map((one) => one[of]),
    )
  const digits = { taken: 0, microseconds: 0, toObvious: 2, p50: 2, p99: 2 } as const satisfies Record<Figure, number>
  printTable(
    ['', 'a second', 'server', 'taken', 'us of processor each', 'to obvious', 'p50 ms', 'p99'],
    (['just started', 'warm'] as const).flatMap((state) =>
      RATES.flatMap((perSecond) =>
        names.map((name) => [
          state,
          `${perSecond}`,
          name,
          ...Object.entries(digits).map(([of, count]) => middle(of as Figure, state, perSecond, name).toFixed(count)),
        ]),
      ),
    ),
  )
  const warm = (of: Figure, perSecond: number) =>
    (['teslim', obviousName] as const).map((name) => middle(of, 'warm', perSecond, name)) as [number, number]
  const onPostgres = obviousName === 'obvious'
  for (const [perSecond, aim] of [
    [200, onPostgres ? 'at most 1.5' : 'at most 1.4'],
    [1000, onPostgres ? 'at most 1.5' : 'at most 1.0'],
  ] as const) {
    const [[p50, obviousP50], [p99, obviousP99]] = [warm('p50', perSecond), warm('p99', perSecond)]
    const [more, times] = onPostgres ? ['', ''] : [' (at most 0.1)', ' (at most 1.0)']
    say(`warm, ${perSecond} a second: teslim / obvious ${warm('toObvious', perSecond)[0].toFixed(2)} (${aim})`)
    say(`  p50 ${(p50 - obviousP50).toFixed(2)} ms more${more}, p99 ${(p99 / obviousP99).toFixed(2)} times${times}`)
  }
  if (onPostgres) say('processor time is that of the server and the database together')
}
