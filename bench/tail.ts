import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { openLoop, percentile } from './open-loop.ts'
import type { BenchOptions } from './options.ts'
import { printTable, say } from './report.ts'
import { type BenchServer, startServer, syncDisk } from './server-process.ts'
import { prepareTeslim, startTeslim } from './teslim-server.ts'

const RATES = [1000, 5000, 10_000, 20_000]
/** As many as a proxy might keep open. */
const CONNECTIONS = 256

/** A server that starts at full rate compiles its code for the first five seconds: one request in a hundred then waits 20 ms or more. */
const WARM_UP_SECONDS = 10
const MAX_WARM_UP = 10_000

const servers = join(import.meta.dirname, 'servers')
const STALLS = join(servers, 'stalls.ts')

interface Contender {
  readonly server: BenchServer
  /** Where it writes down what held its threads up. */
  readonly stalls: string
}

/**
 * Deliveries at fixed rates, whatever becomes of those before. What is measured begins when a request is due, not when it can be sent, so
 * that a stall is seen by all requests that it keeps waiting.
 */
export async function benchTail(options: BenchOptions): Promise<void> {
  const { folder, databaseUrl, postgres, rate } = options
  const { apiKey } = await prepareTeslim(databaseUrl)
  const contenders: Contender[] = []
  const start = async (name: string, starting: (stalls: Record<string, string>) => Promise<BenchServer>) => {
    const stalls = join(folder, `${name}.stalls`)
    const server = await starting({ BENCH_STALLS: stalls, NODE_OPTIONS: `--import=${STALLS}` })
    contenders.push({ server, stalls })
  }
  try {
    await start('bare', (env) => startServer('bare', [join(servers, 'bare.ts')], folder, env))
    if (postgres) {
      const args = [join(servers, 'obvious-postgres.ts'), databaseUrl]
      await start('obvious', (env) => startServer('obvious', args, folder, env))
    } else {
      const obvious = join(folder, 'obvious.db')
      await prepareTeslim(`sqlite:${obvious}`)
      const args = [join(servers, 'obvious.ts'), obvious, 'wal']
      await start('obvious', (env) => startServer('obvious', args, folder, env))
    }
    await start('teslim', (env) => startTeslim(folder, databaseUrl, 'teslim', env))
    const rows: string[][] = []
    const stalls: string[][] = []
    for (const perSecond of rate === 0 ? RATES : [rate]) {
      for (const contender of contenders) {
        const measured = await measure(contender, apiKey, perSecond, options)
        rows.push(measured.row)
        stalls.push(...measured.stalls)
      }
    }
    say(
      `open loop, ${CONNECTIONS} connections, ${options.seconds} s each; the times of fdatasync were measured beside it`,
    )
    printTable(
      [
        'a second',
        'server',
        'taken',
        'late',
        'p50 ms',
        'p99',
        'p99.9',
        'longest',
        'us of processor each',
        'fdatasync p99',
        'longest',
      ],
      rows,
    )
    say('\nwhat held a thread up for 5 ms or more')
    printTable(['a second', 'server', 'times', 'longest ms', 'what'], stalls)
  } finally {
    for (const { server } of contenders) await server.stop()
  }
}

async function measure(
  { server, stalls }: Contender,
  apiKey: string,
  perSecond: number,
  { folder, seconds, shape }: BenchOptions,
): Promise<{ row: string[]; stalls: string[][] }> {
  const load = { url: server.url, apiKey, shape, mostConnections: CONNECTIONS, whenBusy: 'wait' } as const
  await openLoop({ ...load, perSecond: Math.min(perSecond, MAX_WARM_UP), seconds: WARM_UP_SECONDS })
  await syncDisk()
  writeFileSync(stalls, '')
  const disk = watchDisk(join(folder, 'sync'))
  const before = server.cpuMilliseconds()
  const { taken, refused, unsent } = await openLoop({ ...load, perSecond, seconds })
  const microseconds = ((server.cpuMilliseconds() - before) * 1000) / taken.length
  const syncs = await disk.stop()
  const name = [`${perSecond}`, server.name]
  const times = [50, 99, 99.9, 100].map((percent) => percentile(taken, percent).toFixed(1))
  const syncTimes = [99, 100].map((percent) => percentile(syncs, percent).toFixed(1))
  return {
    row: [...name, `${taken.length}`, `${refused.length + unsent}`, ...times, microseconds.toFixed(0), ...syncTimes],
    stalls: summed(stalls).map(({ what, count, longest }) => [...name, `${count}`, longest.toFixed(1), what]),
  }
}

function summed(path: string): { what: string; count: number; longest: number }[] {
  const sums = new Map<string, { what: string; count: number; longest: number }>()
  for (const line of existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []) {
    const [what = '', milliseconds] = line.split('\t')
    if (milliseconds === undefined) continue
    const sum = sums.get(what) ?? { what, count: 0, longest: 0 }
    sum.count++
    sum.longest = Math.max(sum.longest, Number(milliseconds))
    sums.set(what, sum)
  }
  return [...sums.values()].sort((one, other) => other.longest - one.longest)
}

const EVERY_MILLISECONDS = 50
const BLOCK = Buffer.alloc(8192)

/** Makes 8 KiB durable again and again, beside what is measured. */
function watchDisk(path: string): { stop(): Promise<number[]> } {
  const times: number[] = []
  let stopped = false
  const running = (async () => {
    const file = await open(path, 'w')
    while (!stopped) {
      await file.write(BLOCK, 0, BLOCK.length, 0)
      const start = performance.now()
      await file.datasync()
      times.push(performance.now() - start)
      await new Promise((resolve) => setTimeout(resolve, EVERY_MILLISECONDS))
    }
    await file.close()
  })()
  return {
    async stop() {
      stopped = true
      await running
      return times
    },
  }
}
