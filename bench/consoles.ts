import { type IncomingMessage, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { BenchOptions } from './options.ts'
import { median, printTable, say } from './report.ts'
import { syncDisk } from './server-process.ts'
import { addReader, prepareTeslim, startTeslim } from './teslim-server.ts'

const CONSOLES = [0, 1, 100]
/** One operator may open 20. */
const OPERATORS = 5

/** What open consoles cost deliveries: one server, without consoles, with one and with a hundred, in turn. */
export async function benchConsoles({ load, folder, databaseUrl, rounds, seconds, connections }: BenchOptions) {
  const { apiKey } = await prepareTeslim(databaseUrl)
  const logIns = await Promise.all(Array.from({ length: OPERATORS }, () => addReader(databaseUrl, '--operator')))
  const teslim = await startTeslim(folder, databaseUrl)
  const results = CONSOLES.map(() => ({ perSecond: [] as number[], microseconds: [] as number[], megabytes: 0 }))
  try {
    const tokens = await Promise.all(logIns.map((logIn) => logIn(teslim.url)))
    await load.run(teslim.url, apiKey, connections, 2)
    for (let round = 0; round < rounds; round++) {
      // Each comes first, second and last as often as the others.
      for (const turn of CONSOLES.keys()) {
        const index = (round + turn) % CONSOLES.length
        const consoles = await Promise.all(
          Array.from({ length: CONSOLES[index] ?? 0 }, (_, console) =>
            open(teslim.url, tokens[console % OPERATORS] ?? ''),
          ),
        )
        await wait(1500)
        await syncDisk()
        const before = teslim.cpuMilliseconds()
        const { perSecond, answered } = await load.run(teslim.url, apiKey, connections, seconds)
        const result = results[index]
        result?.perSecond.push(perSecond)
        result?.microseconds.push(((teslim.cpuMilliseconds() - before) * 1000) / answered)
        if (result) result.megabytes = Math.max(result.megabytes, teslim.memory())
        for (const close of consoles) close()
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
    ['consoles', 'deliveries/s', 'of alone', 'us of processor each', 'of alone', 'most MB'],
    results.map(({ perSecond, microseconds, megabytes }, index) => [
      String(CONSOLES[index]),
      median(perSecond).toFixed(0),
      ofAlone(perSecond, alone?.perSecond),
      median(microseconds).toFixed(1),
      ofAlone(microseconds, alone?.microseconds),
      String(megabytes),
    ]),
  )
  say('aims: at least 0.97 of alone with one console, 0.90 with a hundred')
}

/** Opens a live view and reads it; resolves, once it is open, to what closes it. */
function open(url: string, token: string): Promise<() => void> {
  const { promise, resolve, reject } = Promise.withResolvers<() => void>()
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
  const from = request(`${url}/Operator/live`, { agent: false, headers }).end()
  from.on('error', reject).on('response', (answer: IncomingMessage) => {
    if (answer.statusCode !== 200) return reject(new Error(`the live view answered ${answer.statusCode}`))
    answer.on('error', () => undefined).resume()
    resolve(() => void from.destroy())
  })
  return promise
}
