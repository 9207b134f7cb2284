import { join } from 'node:path'
import { startPostgres } from '../test/support/postgres-server.ts'
import { createGet } from './get.ts'
import type { Load } from './load.ts'
import { openLoop, percentile } from './open-loop.ts'
import type { BenchOptions } from './options.ts'
import { printTable } from './report.ts'
import { addReader, prepareTeslim, startTeslim } from './teslim-server.ts'

const PER_SECOND = 10_000
const CONNECTIONS = 256
const SECONDS_OF_FILLING = 5

/** How long an operator takes to read, one request at a time, while nothing happens and while deliveries come in at a fixed rate. */
export async function benchBusyReads(_load: Load, options: BenchOptions): Promise<void> {
  const { folder, seconds, shape, postgres, rate: perSecond = PER_SECOND } = options
  const database = postgres ? await startPostgres() : undefined
  const databaseUrl = database?.url ?? `sqlite:${join(folder, 'teslim.db')}`
  try {
    const { apiKey } = await prepareTeslim(databaseUrl)
    const logIn = await addReader(databaseUrl, '--operator')
    const teslim = await startTeslim(folder, databaseUrl)
    try {
      const deliver = (time: number) =>
        openLoop({
          url: teslim.url,
          apiKey,
          perSecond,
          seconds: time,
          shape,
          mostConnections: CONNECTIONS,
          whenBusy: 'wait',
        })
      await deliver(SECONDS_OF_FILLING)
      const reads = await readsOf(teslim.url, await logIn(teslim.url))
      const quiet = await timesOf(reads, timeIsUp(seconds))
      const delivering = deliver(seconds)
      const busy = await timesOf(reads, timeIsUp(seconds))
      const { taken, unsent, refused } = await delivering
      const columns = (times: readonly number[] = []) =>
        [50, 99].map((percent) => percentile(times, percent).toFixed(2))
      console.log(
        `${perSecond} deliveries a second for ${seconds} s, ${unsent + refused.length} late; their p99: ${percentile(taken, 99).toFixed(1)} ms`,
      )
      printTable(
        ['request', 'quiet: p50 ms', 'p99 ms', 'busy: p50 ms', 'p99 ms'],
        Object.keys(reads).map((name) => [name, ...columns(quiet.get(name)), ...columns(busy.get(name))]),
      )
    } finally {
      await teslim.stop()
    }
  } finally {
    await database?.remove()
  }
}

type Reads = Readonly<Record<string, () => Promise<unknown>>>

async function readsOf(url: string, token: string): Promise<Reads> {
  const send = createGet(url)
  const get = <Answer>(path: string): Promise<Answer> => send(path, { authorization: `Bearer ${token}` })
  const { data } = await get<{ data: { Orders: { OrderID: string }[] } }>('/Purchase/list')
  const order = encodeURIComponent(data.Orders[0]?.OrderID ?? '')
  return {
    'nothing (/livez)': () => get('/livez'),
    'list, first page': () => get('/Purchase/list'),
    'list, newest first': () => get('/Purchase/list?order=newest'),
    'detail of an order': () => get(`/Purchase/detail/${order}`),
    'deliveries, first page': () => get('/Purchase/deliveries'),
    'feed, a page': () => get('/Purchase/feed?limit=100'),
    statistics: () => get('/Purchase/stats'),
  }
}

const timeIsUp = (seconds: number): (() => boolean) => {
  const end = performance.now() + seconds * 1000
  return () => performance.now() >= end
}

/** Sends the requests in turn, one at a time. */
async function timesOf(reads: Reads, isOver: () => boolean): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>(Object.keys(reads).map((name) => [name, []]))
  while (!isOver()) {
    for (const [name, read] of Object.entries(reads)) {
      const start = performance.now()
      await read()
      times.get(name)?.push(performance.now() - start)
    }
  }
  return times
}
