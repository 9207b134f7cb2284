import { join } from 'node:path'
import type { Load } from './load.ts'
import { openLoop, percentile } from './open-loop.ts'
import type { BenchOptions } from './options.ts'
import { printTable } from './report.ts'
import { prepareTeslim, startTeslim } from './teslim-server.ts'

/** More than the server holds, so that some are refused. */
const MOST_CONNECTIONS = 10_000

/** Deliveries at twice the rate that is taken in a closed loop, whatever becomes of those before. */
export async function benchOverload(load: Load, { folder, seconds, connections }: BenchOptions): Promise<void> {
  const database = `sqlite:${join(folder, 'teslim.db')}`
  const { apiKey } = await prepareTeslim(database)
  const server = await startTeslim(folder, database)
  try {
    const { perSecond: capacity } = await load.run(server.url, apiKey, connections, 4)
    const perSecond = Math.round(capacity * 2)
    const result = await openLoop({ url: server.url, apiKey, perSecond, seconds, mostConnections: MOST_CONNECTIONS })
    const { sent, unsent, statuses, taken, refused } = result
    console.log(`${Math.round(capacity)} a second are taken; ${perSecond} a second offered for ${seconds} s`)
    console.log(`${sent} sent, ${unsent} not, as the generator was late or all its connections waited`)
    const row = (name: string, times: readonly number[]) => [
      name,
      `${times.length}`,
      ...[50, 99, 100].map((percent) => percentile(times, percent).toFixed(0)),
    ]
    printTable(['', 'answers', 'p50 ms', 'p99 ms', 'max ms'], [row('taken', taken), row('refused', refused)])
    console.log(`by status: ${JSON.stringify(Object.fromEntries(statuses))}; memory ${server.memory()} MB`)
    const after = await openLoop({ url: server.url, apiKey, perSecond: 100, seconds: 2, mostConnections: 64 })
    console.log(
      `after: p50 ${percentile(after.taken, 50).toFixed(1)} ms, p99 ${percentile(after.taken, 99).toFixed(1)} ms`,
    )
  } finally {
    await server.stop()
  }
}
