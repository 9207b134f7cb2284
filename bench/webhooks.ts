import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type OpenLoopResult, openLoop, percentile } from './open-loop.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable, say } from './report.ts'
import { type BenchServer, startServer, syncDisk } from './server-process.ts'
import { cli, prepareTeslim, startTeslim } from './teslim-server.ts'

const PER_SECOND = 2000
const ENDPOINTS = 100
/** A hundred POSTs for each delivery. */
const PER_SECOND_TO_MANY = 20
const MAX_CONNECTIONS = 200
/** A server looks every second which endpoints it may push to. */
const TAKEN_MILLISECONDS = 3000

export interface Pushed {
  readonly count: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
}

/** What pushing costs deliveries, and how soon they arrive: one endpoint at a high rate, then many of which two are out of order. */
export async function benchWebhooks(options: BenchOptions): Promise<void> {
  const { load, folder, databaseUrl } = options
  const { apiKey } = await prepareTeslim(databaseUrl)
  const receiver = await startServer('receiver', [join(import.meta.dirname, 'servers/receiver.ts')], folder)
  const teslim = await startTeslim(folder, databaseUrl, 'teslim', allowing(receiver))
  const bench: Bench = { options, databaseUrl, apiKey, receiver, teslim }
  try {
    await load.run(teslim.url, apiKey, options.connections, 2)
    await benchOne(bench)
    await benchMany(bench)
  } finally {
    await teslim.stop()
    await receiver.stop()
  }
}

interface Bench {
  readonly options: BenchOptions
  readonly databaseUrl: string
  readonly apiKey: string
  readonly receiver: BenchServer
  readonly teslim: BenchServer
}

const allowing = ({ url }: BenchServer) => ({ TESLIM_WEBHOOK_ALLOW: new URL(url).host })
const webhook = ({ databaseUrl, receiver }: Bench, ...args: string[]) =>
  cli(databaseUrl, ['webhook', ...args], allowing(receiver))

/** What the receiver got since it was asked last. */
export const pushed = async ({ url }: BenchServer): Promise<Pushed> => (await (await fetch(url)).json()) as Pushed

/** Adds an endpoint that gets what comes in from now on, and waits until a server pushes to it. */
async function addEndpoints(bench: Bench, paths: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const path of paths)
    ids.push((await webhook(bench, 'add', '--url', `${bench.receiver.url}${path}`)).Endpoint.EndpointID)
  await wait(TAKEN_MILLISECONDS)
  return ids
}

async function remove(bench: Bench, ids: readonly string[]): Promise<void> {
  for (const id of ids) await webhook(bench, 'remove', id)
  await settle(bench.receiver)
}

const deliver = ({ teslim, apiKey, options }: Bench, perSecond: number): Promise<OpenLoopResult> =>
  openLoop({ url: teslim.url, apiKey, perSecond, seconds: options.seconds, mostConnections: MAX_CONNECTIONS })

/** Waits until everything has arrived, so that a round does not begin with the rest of the one before. */
export async function settle(receiver: BenchServer): Promise<void> {
  do await wait(1000)
  while ((await pushed(receiver)).count > 0)
  await syncDisk()
}

interface Round extends Partial<Pushed> {
  readonly takenPerSecond: number
  readonly answerP99: number
  readonly microseconds: number
  readonly most: number
}

async function round(bench: Bench, isPushing: boolean): Promise<Round> {
  const { teslim, apiKey, options } = bench
  const ids = await addEndpoints(bench, isPushing ? ['/one'] : [])
  await settle(bench.receiver)
  const before = teslim.cpuMilliseconds()
  const started = performance.now()
  const { taken } = await deliver(bench, PER_SECOND)
  const seconds = (performance.now() - started) / 1000
  const got = await pushed(bench.receiver)
  const microseconds = ((teslim.cpuMilliseconds() - before) * 1000) / taken.length
  const most = (await options.load.run(teslim.url, apiKey, options.connections, options.seconds)).perSecond
  // What is left of that need not be pushed.
  await remove(bench, ids)
  return {
    ...(isPushing && { ...got, perSecond: got.count / seconds }),
    takenPerSecond: taken.length / seconds,
    answerP99: percentile(taken, 99),
    microseconds,
    most,
  }
}

async function benchOne(bench: Bench): Promise<void> {
  const { rounds, seconds } = bench.options
  const results: Record<'without' | 'with', Round[]> = { without: [], with: [] }
  for (let turn = 0; turn < 2 * rounds; turn++) {
    // In turn, so that neither always comes second.
    const isPushing = turn % 4 === 0 || turn % 4 === 3
    results[isPushing ? 'with' : 'without'].push(await round(bench, isPushing))
  }
  const middle = (all: readonly Round[], of: keyof Round): string => median(all.map((each) => each[of] ?? 0)).toFixed(1)
  const columns = ['takenPerSecond', 'answerP99', 'microseconds', 'most', 'perSecond', 'p50', 'p99'] as const
  say(`one endpoint, ${PER_SECOND} deliveries a second, ${rounds} rounds of ${seconds} s each, medians`)
  printTable(
    ['', 'taken/s', 'answer p99 ms', 'us of processor each', 'most/s', 'pushed/s', 'to the POST p50 ms', 'p99 ms'],
    [
      ['without webhooks', ...columns.slice(0, 4).map((of) => middle(results.without, of)), '', '', ''],
      ['with webhooks', ...columns.map((of) => middle(results.with, of))],
    ],
  )
  say('aims: 2,000 pushed a second, at least 0.90 of the deliveries taken without webhooks, p99 under 50 ms')
}

async function benchMany(bench: Bench): Promise<void> {
  const { teslim, options } = bench
  const before = teslim.memory()
  const paths = Array.from({ length: ENDPOINTS - 2 }, (_, number) => `/${number}`)
  await addEndpoints(bench, paths)
  const results: Record<'without' | 'with', Pushed[]> = { without: [], with: [] }
  let most = 0
  for (let turn = 0; turn < 2 * options.rounds; turn++) {
    const withBad = turn % 4 === 1 || turn % 4 === 2
    const bad = await addEndpoints(bench, withBad ? ['/hang', '/fail'] : [])
    await settle(bench.receiver)
    await deliver(bench, PER_SECOND_TO_MANY)
    results[withBad ? 'with' : 'without'].push(await pushed(bench.receiver))
    most = Math.max(most, teslim.memory())
    await remove(bench, bad)
  }
  const row = (name: string, all: readonly Pushed[]) => [
    name,
    ...(['count', 'p50', 'p99'] as const).map((of) => median(all.map((each) => each[of])).toFixed(0)),
  ]
  say(`\n${ENDPOINTS} endpoints, ${PER_SECOND_TO_MANY} deliveries a second to each of them`)
  printTable(
    ['', 'pushed to the others', 'p50 ms', 'p99 ms'],
    [row('without the two', results.without), row('one hangs, one fails', results.with)],
  )
  say(`memory: ${most - before} MB more`)
  say('aims: p99 at most 1.5 times, under 60 MB more')
}
