import { type IncomingMessage, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { BenchOptions } from './options.ts'
import { median, printTable, say } from './report.ts'
import { syncDisk } from './server-process.ts'
import { addReader, prepareTeslim, startTeslim } from './teslim-server.ts'

/** What operators do while deliveries come in. */
interface Beside {
  readonly name: string
  /** How many at once, each in its turn. */
  readonly counts: readonly number[]
  /** How many one operator may have. */
  readonly mostOfOne: number
  /** Begins one; resolves, once it has begun, to what ends it. */
  readonly begin: (url: string, token: string) => Promise<() => void>
  readonly aims: string
}

const CONSOLES: Beside = {
  name: 'consoles',
  counts: [0, 1, 100],
  mostOfOne: 20,
  begin: (url, token) => read(`${url}/Operator/live`, token, 'text/event-stream'),
  aims: 'aims: at least 0.97 of alone with one console, 0.90 with a hundred',
}

const EXPORTS: Beside = {
  name: 'exports',
  counts: [0, 1, 4],
  mostOfOne: 2,
  begin: exportAgain,
  aims: 'no aim: an export leaves half of the time of its thread to others',
}

export const benchConsoles = (options: BenchOptions) => benchBeside(CONSOLES, options)
export const benchExports = (options: BenchOptions) => benchBeside(EXPORTS, options)

/** What it costs deliveries: one server, without, with one and with many, in turn. */
async function benchBeside({ name, counts, mostOfOne, begin, aims }: Beside, options: BenchOptions): Promise<void> {
  const { load, folder, databaseUrl, rounds, seconds, connections } = options
  const operators = Math.ceil(Math.max(...counts) / mostOfOne)
  const { apiKey } = await prepareTeslim(databaseUrl)
  const logIns = await Promise.all(Array.from({ length: operators }, () => addReader(databaseUrl, '--operator')))
  const teslim = await startTeslim(folder, databaseUrl)
  const results = counts.map(() => ({ perSecond: [] as number[], microseconds: [] as number[], megabytes: 0 }))
  try {
    const tokens = await Promise.all(logIns.map((logIn) => logIn(teslim.url)))
    await load.run(teslim.url, apiKey, connections, 2)
    for (let round = 0; round < rounds; round++) {
      // Each comes first, second and last as often as the others.
      for (const turn of counts.keys()) {
        const index = (round + turn) % counts.length
        const begun = await Promise.all(
          Array.from({ length: counts[index] ?? 0 }, (_, each) => begin(teslim.url, tokens[each % operators] ?? '')),
        )
        await wait(1500)
        await syncDisk()
        const before = teslim.cpuMilliseconds()
        const { perSecond, answered } = await load.run(teslim.url, apiKey, connections, seconds)
        const result = results[index]
        result?.perSecond.push(perSecond)
        result?.microseconds.push(((teslim.cpuMilliseconds() - before) * 1000) / answered)
        if (result) result.megabytes = Math.max(result.megabytes, teslim.memory())
        for (const end of begun) end()
        await wait(200)
      }
    }
  } finally {
    await teslim.stop()
  }
  const [alone] = results
  const ofAlone = (values: readonly number[], others: readonly number[] = []): string =>
    median(values.map((value, round) => value / (others[round] ?? 1))).toFixed(3)
  say(`${load.generator}, ${connections} connections, ${rounds} rounds of ${seconds} s each, medians`)
  printTable(
    [name, 'deliveries/s', 'of alone', 'us of processor each', 'of alone', 'most MB'],
    results.map(({ perSecond, microseconds, megabytes }, index) => [
      String(counts[index]),
      median(perSecond).toFixed(0),
      ofAlone(perSecond, alone?.perSecond),
      median(microseconds).toFixed(1),
      ofAlone(microseconds, alone?.microseconds),
      String(megabytes),
    ]),
  )
  say(aims)
}

/** Reads an answer without an end; resolves, once it has begun, to what breaks it off. */
function read(url: string, token: string, accept: string, onEnd: () => unknown = () => undefined): Promise<() => void> {
  const { promise, resolve, reject } = Promise.withResolvers<() => void>()
  const from = request(url, { agent: false, headers: { authorization: `Bearer ${token}`, accept } }).end()
  from.on('error', reject).on('response', (answer: IncomingMessage) => {
    if (answer.statusCode !== 200) return reject(new Error(`${url} answered ${answer.statusCode}`))
    answer.on('error', () => undefined).on('end', onEnd)
    answer.resume()
    resolve(() => void from.destroy())
  })
  return promise
}

/** Exports all deliveries, again and again. */
async function exportAgain(url: string, token: string): Promise<() => void> {
  let isOver = false
  let reading: Promise<() => void>
  const begin = () => {
    if (!isOver) reading = read(`${url}/Purchase/deliveries`, token, 'text/csv', () => begin().catch(() => undefined))
    return reading
  }
  await begin()
  return () => {
    isOver = true
    void reading.then((end) => end())
  }
}
