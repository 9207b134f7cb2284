import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { WARM_UP_SECONDS } from './load.ts'
import { percentile } from './open-loop.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable, say } from './report.ts'
import { type BenchServer, syncDisk } from './server-process.ts'
import { OTHER_FIELDS } from './shapes.ts'
import { addReader, prepareTeslim, startTeslim } from './teslim-server.ts'

const IDLE_CUSTOMERS = 20
/** Fewer than a customer may have. */
const FOLLOWERS_OF_EACH = 50
const IDLE_FOLLOWERS = IDLE_CUSTOMERS * FOLLOWERS_OF_EACH
const PER_SECOND = 1000
const TICK_MILLISECONDS = 5

/** What followers of the feed cost, and how soon they have what was delivered. With PostgreSQL they follow another replica. */
export async function benchFeed({ load, folder, databaseUrl, postgres, rounds, seconds, connections }: BenchOptions) {
  const { apiKey } = await prepareTeslim(databaseUrl)
  const office = await addReader(databaseUrl, '--operator')
  const idle = []
  while (idle.length < IDLE_CUSTOMERS) idle.push(await addReader(databaseUrl))
  const teslim = await startTeslim(folder, databaseUrl)
  const followed = postgres ? await startTeslim(folder, databaseUrl, 'teslim-2') : teslim
  try {
    const officeToken = await office(followed.url)
    const idleTokens = await Promise.all(idle.map((logIn) => logIn(followed.url)))
    // First, as long as there is little for the one that follows everything to catch up with.
    await load.run(teslim.url, apiKey, connections, 1)
    const openIdle = (): Promise<(() => void)[]> =>
      Promise.all(
        idleTokens.flatMap((token) => Array.from({ length: FOLLOWERS_OF_EACH }, () => follow(followed.url, token))),
      )
    const before = await restingMemory(followed)
    const besides = await openIdle()
    // Only now: what a process once took it keeps.
    const megabytes = (await restingMemory(followed)) - before
    const latencies = await measureEvents({
      deliverTo: teslim.url,
      followAt: followed.url,
      apiKey,
      token: officeToken,
      seconds,
    })
    for (const end of besides) end()
    await wait(1000)

    const alone: number[] = []
    const beside: number[] = []
    const deliver = async (): Promise<number> => {
      await wait(1000)
      await syncDisk()
      return (await load.run(teslim.url, apiKey, connections, seconds)).perSecond
    }
    const deliverBeside = async (): Promise<number> => {
      const followers = await openIdle()
      const perSecond = await deliver()
      for (const end of followers) end()
      return perSecond
    }
    for (let round = 0; round < rounds; round++) {
      // In turn, so that neither always comes second.
      if (round % 2 === 0) alone.push(await deliver())
      beside.push(await deliverBeside())
      if (round % 2 === 1) alone.push(await deliver())
    }

    say(`${load.generator}, ${connections} connections, ${rounds} rounds of ${seconds} s each, medians`)
    printTable(
      ['', 'deliveries/s', 'of alone', 'MB for them'],
      [
        ['no follower', median(alone).toFixed(0), '', ''],
        [
          `${IDLE_FOLLOWERS} idle followers`,
          median(beside).toFixed(0),
          median(beside.map((each, round) => each / (alone[round] ?? 1))).toFixed(2),
          `${megabytes}`,
        ],
      ],
    )
    say(
      `\n${latencies.length} deliveries at ${PER_SECOND} a second, after ${WARM_UP_SECONDS} s of them, ${IDLE_FOLLOWERS} idle followers beside`,
    )
    const row = (name: string, values: number[]) => [
      name,
      ...[50, 99, 100].map((percent) => percentile(values, percent).toFixed(1)),
    ]
    printTable(
      ['to the event', 'p50 ms', 'p99 ms', 'longest'],
      [
        row(
          'from the answer',
          latencies.map(({ event, answered }) => Math.max(0, event - answered)),
        ),
        row(
          'from the request',
          latencies.map(({ event, sent }) => event - sent),
        ),
      ],
    )
    say('aims: at least 0.90 of alone, under 60 MB, p99 under 50 ms')
  } finally {
    await teslim.stop()
    if (followed !== teslim) await followed.stop()
  }
}

/** After what came in has been written and collected. */
async function restingMemory(server: BenchServer): Promise<number> {
  await wait(2000)
  return server.memory()
}

/** Resolves once the stream is open, to what ends it. */
function follow(url: string, token: string, onText?: (text: string) => void): Promise<() => void> {
  const { promise, resolve, reject } = Promise.withResolvers<() => void>()
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
  const from = request(`${url}/Purchase/feed?payload=none&limit=1000`, { agent: false, headers }).end()
  from.on('error', reject).on('response', (answer: IncomingMessage) => {
    if (answer.statusCode !== 200) return reject(new Error(`the feed answered ${answer.statusCode}`))
    answer
      .setEncoding('utf8')
      .on('data', (text: string) => onText?.(text))
      .on('error', () => undefined)
    resolve(() => void from.destroy())
  })
  return promise
}

interface Journey {
  readonly sent: number
  answered: number
  event: number
}

interface EventOptions {
  readonly deliverTo: string
  readonly followAt: string
  readonly apiKey: string
  readonly token: string
  readonly seconds: number
}

async function measureEvents({ deliverTo, followAt, apiKey, token, seconds }: EventOptions): Promise<Journey[]> {
  const journeys = new Map<string, Journey>()
  let rest = ''
  const end = await follow(followAt, token, (text) => {
    const now = performance.now()
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const journey = journeys.get(/"OrderID":"(feed-\d+)"/.exec(line)?.[1] ?? '')
      if (journey !== undefined) journey.event = now
    }
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const deliver = (number: number): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const journey: Journey = { sent: performance.now(), answered: 0, event: 0 }
    journeys.set(`feed-${number}`, journey)
    const to = request(`${deliverTo}/Purchase/update`, { agent, method: 'POST', headers: { apikey: apiKey } })
    to.on('error', reject).on('response', (answer: IncomingMessage) => {
      journey.answered = performance.now()
      answer.resume().on('end', resolve)
    })
    to.end(`{"OrderID":"feed-${number}","Status":1${OTHER_FIELDS}`)
    return promise
  }
  // Everything that came before has to be read first.
  await wait(5000)
  const sending: Promise<void>[] = []
  const start = performance.now()
  const total = PER_SECOND * (WARM_UP_SECONDS + seconds)
  for (let due = 0; due < total; ) {
    due = Math.min(total, Math.floor(((performance.now() - start) * PER_SECOND) / 1000))
    while (sending.length < due) sending.push(deliver(sending.length))
    await wait(TICK_MILLISECONDS)
  }
  await Promise.all(sending)
  await wait(2000)
  end()
  agent.destroy()
  const missing = [...journeys.values()].filter(({ event }) => event === 0)
  if (missing.length > 0) throw new Error(`${missing.length} deliveries came to no event`)
  return [...journeys.values()].slice(PER_SECOND * WARM_UP_SECONDS)
}
