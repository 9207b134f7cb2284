import { setTimeout as wait } from 'node:timers/promises'
import { openLoop, percentile } from './open-loop.ts'
import type { BenchOptions } from './options.ts'
import { printTable, say } from './report.ts'
import { prepareTeslim, startTeslim } from './teslim-server.ts'

/** More than the server holds, so that some are refused. */
const MAX_CONNECTIONS = 10_000

/** Deliveries at twice the rate that is taken in a closed loop, whatever becomes of those before. */
export async function benchOverload({ load, folder, databaseUrl, seconds, connections }: BenchOptions): Promise<void> {
  const { apiKey } = await prepareTeslim(databaseUrl)
  // One address may hold a quarter of the connections only: these come from all over, by a proxy.
  const server = await startTeslim(folder, databaseUrl, 'teslim', { TESLIM_TRUST_PROXY: 'loopback' })
  try {
    const { perSecond: capacity } = await load.run(server.url, apiKey, connections, 4)
    const perSecond = Math.round(capacity * 2)
    let most = 0
    const looking = setInterval(() => {
      most = Math.max(most, server.memory())
    }, 100)
    const loaded = openLoop({ url: server.url, apiKey, perSecond, seconds, mostConnections: MAX_CONNECTIONS })
    await wait(seconds * 1000)
    const normalAfter = await untilNormal(server.url, apiKey)
    const result = await loaded
    clearInterval(looking)
    const { sent, unsent, statuses, taken, refused } = result
    say(`${Math.round(capacity)} a second are taken; ${perSecond} a second offered for ${seconds} s`)
    say(`${sent} sent, ${unsent} not, as the generator was late or all its connections waited`)
    const row = (name: string, times: readonly number[]) => [
      name,
      `${times.length}`,
      ...[50, 99, 100].map((percent) => percentile(times, percent).toFixed(0)),
    ]
    printTable(['', 'answers', 'p50 ms', 'p99 ms', 'max ms'], [row('taken', taken), row('refused', refused)])
    say(`by status: ${JSON.stringify(Object.fromEntries(statuses))}; memory at most ${most} MB`)
    say(`back to normal ${normalAfter.toFixed(1)} s after the last request was sent`)
  } finally {
    await server.stop()
  }
}

const NORMAL_MILLISECONDS = 50
/** A client whose first packet the system dropped sends it again after 1, 3, 7 and 15 s: whoever looks must not wait for that. */
const PATIENCE_MILLISECONDS = 500
const IN_A_ROW = 20

/** Seconds until deliveries, one after the other, are accepted at once again, 20 in a row. */
async function untilNormal(url: string, apiKey: string): Promise<number> {
  const start = performance.now()
  let normalSince = start
  for (let quick = 0; quick < IN_A_ROW; quick++) {
    const sent = performance.now()
    const headers = { ApiKey: apiKey }
    const accepted = await fetch(`${url}/Purchase/update`, {
      method: 'POST',
      headers,
      body: '{"Status":1,"Products":[{"Sku":"SKU-1"}]}',
      signal: AbortSignal.timeout(PATIENCE_MILLISECONDS),
    })
      .then(async (answer) => (await answer.text()) !== '' && answer.ok)
      .catch(() => false)
    if (accepted && performance.now() - sent < NORMAL_MILLISECONDS) continue
    quick = -1
    normalSince = performance.now()
  }
  return (normalSince - start) / 1000
}
