import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type LoadResult, type MeasuredLoad, measured, WARM_UP_SECONDS } from './load.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable, say } from './report.ts'
import { type BenchServer, startServer, syncDisk } from './server-process.ts'
import { addReader, EMAIL, prepareTeslim, startTeslim } from './teslim-server.ts'

const PAUSES_SECONDS = [6, 30, 120]

interface Subject {
  readonly name: string
  readonly server: BenchServer
  run(seconds: number): Promise<LoadResult>
}

interface Pair {
  readonly subject: Subject
  readonly pause: number
  readonly before: MeasuredLoad
  readonly burst: MeasuredLoad
}

/** Deliveries, logins and pages of the feed right after a pause, each beside the same load just before that pause. */
export async function benchBursts(options: BenchOptions): Promise<void> {
  const { load, rounds, seconds, connections } = options
  const pairs: Pair[] = []
  const subjects: Subject[] = []
  try {
    for await (const subject of startAll(options)) subjects.push(subject)
    const slot = WARM_UP_SECONDS + seconds
    for (let round = 0; round < rounds; round++)
      for (const pause of PAUSES_SECONDS) {
        // While some pause, others are loaded, as many as have their turn before the first pause ends.
        const together = 1 + Math.floor(pause / slot)
        for (let first = 0; first < subjects.length; first += together)
          pairs.push(...(await pauseTogether(subjects.slice(first, first + together), pause, seconds)))
      }
    say(
      `${load.generator}, ${connections} connections, ${rounds} rounds, ${seconds} s before and after each pause, medians`,
    )
    report(pairs, subjects)
  } finally {
    for (const { server } of subjects) await server.stop()
  }
}

async function* startAll({ folder, load, connections }: BenchOptions): AsyncGenerator<Subject> {
  const bare = await startServer('bare', [join(import.meta.dirname, 'servers/bare.ts')], folder)
  yield { name: 'bare Fastify', server: bare, run: (seconds) => load.run(bare.url, '', connections, seconds) }

  const started = async (name: string) => {
    const databaseUrl = `sqlite:${join(folder, `${name}.db`)}`
    const prepared = await prepareTeslim(databaseUrl)
    const reader = await addReader(databaseUrl, '--operator')
    return { ...prepared, reader, server: await startTeslim(folder, databaseUrl, `teslim-${name}`) }
  }
  const deliveries = await started('deliveries')
  yield {
    name: 'deliveries',
    server: deliveries.server,
    run: (seconds) => load.run(deliveries.server.url, deliveries.apiKey, connections, seconds),
  }
  const logins = await started('logins')
  const login = { email: EMAIL, password: logins.password }
  yield {
    name: 'logins',
    server: logins.server,
    run: (seconds) => load.logIn(logins.server.url, login, connections, seconds),
  }
  const feed = await started('feed')
  const { url } = feed.server
  await load.run(url, feed.apiKey, connections, 1)
  const token = await feed.reader(url)
  yield { name: 'feed', server: feed.server, run: (seconds) => load.feed(url, token, connections, seconds) }
}

async function pauseTogether(subjects: readonly Subject[], pause: number, seconds: number): Promise<Pair[]> {
  const paused: { subject: Subject; before: MeasuredLoad; until: number }[] = []
  for (const subject of subjects) {
    await subject.run(WARM_UP_SECONDS)
    await syncDisk()
    const before = await measured(subject.server, () => subject.run(seconds))
    paused.push({ subject, before, until: performance.now() + pause * 1000 })
  }
  const pairs: Pair[] = []
  for (const { subject, before, until } of paused) {
    await syncDisk()
    await wait(until - performance.now())
    pairs.push({ subject, pause, before, burst: await measured(subject.server, () => subject.run(seconds)) })
  }
  return pairs
}

function report(pairs: readonly Pair[], subjects: readonly Subject[]): void {
  printTable(
    [
      '',
      'pause s',
      'req/s before',
      'p99 ms',
      'us each',
      'req/s after',
      'p99 ms',
      'us each',
      'rate',
      'p99',
      'failed',
      'MB',
    ],
    subjects.flatMap((subject) =>
      PAUSES_SECONDS.map((pause) => {
        const own = pairs.filter((pair) => pair.subject === subject && pair.pause === pause)
        const middle = (of: (pair: Pair) => number): number => median(own.map(of))
        const figures = (of: (pair: Pair) => MeasuredLoad): string[] => [
          middle((pair) => of(pair).perSecond).toFixed(0),
          middle((pair) => of(pair).p99).toFixed(2),
          middle((pair) => of(pair).microseconds).toFixed(0),
        ]
        return [
          subject.name,
          `${pause}`,
          ...figures(({ before }) => before),
          ...figures(({ burst }) => burst),
          middle(({ before, burst }) => burst.perSecond / before.perSecond).toFixed(2),
          middle(({ before, burst }) => burst.p99 / before.p99).toFixed(2),
          `${own.reduce((sum, { before, burst }) => sum + before.failed + burst.failed, 0)}`,
          `${subject.server.memory()}`,
        ]
      }),
    ),
  )
  say('aims: after each pause at least 0.95 of the rate and at most 1.2 times the p99')
}
