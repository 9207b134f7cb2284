import { once } from 'node:events'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openLoop } from './open-loop.ts'
import type { BenchOptions } from './options.ts'
import { printTable, say } from './report.ts'
import { type BenchServer, startServer } from './server-process.ts'
import { OTHER_FIELDS } from './shapes.ts'
import { cli, prepareTeslim, startTeslim } from './teslim-server.ts'
import { type Pushed, pushed, settle } from './webhooks.ts'

const PER_SECOND = 2000
const MAX_CONNECTIONS = 200
/** Lines in one upload, and in one write. */
const AT_ONCE = 50_000
const LINES = 500
const STUCK_ORDER = 'stuck'

/** What an endpoint that refuses one order gets of the others, while more and more waits behind that order. */
export async function benchBacklog({ folder, databaseUrl, most, rounds, seconds }: BenchOptions): Promise<void> {
  const { apiKey } = await prepareTeslim(databaseUrl)
  const receiver = await startServer('receiver', [join(import.meta.dirname, 'servers/receiver.ts')], folder)
  const allowed = { TESLIM_WEBHOOK_ALLOW: new URL(receiver.url).host }
  const start = (): Promise<BenchServer> => startTeslim(folder, databaseUrl, 'teslim', allowed)
  let teslim = await start()
  try {
    const url = `${receiver.url}/picky`
    const { EndpointID } = (await cli(databaseUrl, ['webhook', 'add', '--url', url], allowed)).Endpoint
    const waiting = async (): Promise<number> =>
      (await cli(databaseUrl, ['webhook', 'show', EndpointID], allowed)).Endpoint.Waiting
    const measure = async () => {
      await settle(receiver)
      const times: Pushed[] = []
      for (let round = 0; round < rounds; round++) {
        await openLoop({ url: teslim.url, apiKey, perSecond: PER_SECOND, seconds, mostConnections: MAX_CONNECTIONS })
        times.push(await pushed(receiver))
        await settle(receiver)
      }
      const p99 = times.map((each) => each.p99).toSorted((one, other) => one - other)
      return { p99: p99[Math.floor(p99.length / 2)] ?? 0, memory: teslim.memory() }
    }

    const without = await measure()
    for (let left = most; left > 0; left -= AT_ONCE) await upload(teslim.url, apiKey, Math.min(left, AT_ONCE))
    while ((await waiting()) < most) await wait(1000)
    const behind = await measure()

    await teslim.stop()
    const begun = performance.now()
    teslim = await start()
    const listening = performance.now() - begun
    const restarted = await measure()

    await fetch(`${receiver.url}/heal`)
    const [stuck] = (await cli(databaseUrl, ['webhook', 'show', EndpointID], allowed)).Failing
    await cli(databaseUrl, ['webhook', 'replay', EndpointID, '--receipt', stuck.ReceiptID], allowed)
    const healed = performance.now()
    const before = await waiting()
    await wait(seconds * 1000)
    const drained = before - (await waiting())
    const rate = (drained * 1000) / (performance.now() - healed)

    say(`${most} deliveries behind one order that is refused; ${PER_SECOND} a second of others, medians`)
    printTable(
      ['', 'to the POST p99 ms', 'memory MB'],
      [
        ['nothing waits', without.p99.toFixed(0), String(without.memory)],
        [`${most} wait`, behind.p99.toFixed(0), String(behind.memory)],
        ['after a restart', restarted.p99.toFixed(0), String(restarted.memory)],
      ],
    )
    say(`a start takes ${Math.round(listening)} ms; once well, ${Math.round(rate)} of that order a second`)
    say('aims: the same p99, under 60 MB more memory after a restart, a start under 2 s')
  } finally {
    await teslim.stop()
    await receiver.stop()
  }
}

/** Sends so many deliveries of the order that is refused. */
async function upload(url: string, apiKey: string, count: number): Promise<void> {
  const sending = request(`${url}/Purchase/updates`, { method: 'POST', agent: false, headers: { ApiKey: apiKey } })
  const ended = new Promise<void>((resolve, reject) => {
    sending.on('error', reject)
    sending.on('response', (response) => {
      const isTaken = response.statusCode === 200
      response.resume().on('end', () => (isTaken ? resolve() : reject(new Error(`answered ${response.statusCode}`))))
    })
  })
  for (let sent = 0; sent < count; sent += LINES) {
    const lines = Array.from({ length: Math.min(LINES, count - sent) }, (_, line) => line).map(
      (line) => `{"OrderID":"${STUCK_ORDER}","Status":${line % 4}${OTHER_FIELDS}\n`,
    )
    if (!sending.write(lines.join(''))) await Promise.race([once(sending, 'drain'), ended])
  }
  sending.end()
  await ended
}
