import { request } from 'node:http'
import { join } from 'node:path'
import type { Load } from './load.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable } from './report.ts'
import { syncDisk } from './server-process.ts'
import { OTHER_FIELDS } from './shapes.ts'
import { prepareTeslim, startTeslim } from './teslim-server.ts'

/** Lines in one write. */
const AT_ONCE = 100

/** The same deliveries one a request over many connections, and in one upload, in turn. */
export async function benchBulk(load: Load, { folder, rounds, seconds, connections }: BenchOptions): Promise<void> {
  const database = `sqlite:${join(folder, 'teslim.db')}`
  const { apiKey } = await prepareTeslim(database)
  const server = await startTeslim(folder, database)
  const single: number[] = []
  const bulk: number[] = []
  console.log(`${load.generator}, ${connections} connections against one upload, ${rounds} rounds of ${seconds} s each`)
  try {
    await load.run(server.url, apiKey, connections, 2)
    await upload(server.url, apiKey, 2)
    for (let round = 0; round < rounds; round++) {
      await syncDisk()
      single.push((await load.run(server.url, apiKey, connections, seconds)).perSecond)
      await syncDisk()
      bulk.push(await upload(server.url, apiKey, seconds))
    }
    printTable(
      ['', 'deliveries/s'],
      [
        ['one a request', median(single).toFixed(0)],
        ['one upload', median(bulk).toFixed(0)],
      ],
    )
    const ratios = bulk.map((rate, round) => rate / (single[round] ?? 1))
    console.log(`upload / requests  ${median(ratios).toFixed(2)}   (at least 1.5)`)
    console.log(`memory ${server.memory()} MB`)
  } finally {
    await server.stop()
  }
}

/** Sends lines for that long; resolves to how many were answered with a receipt a second. */
function upload(url: string, apiKey: string, seconds: number): Promise<number> {
  const prefix = `{"OrderID":"BU-${Date.now().toString(36)}-`
  const begun = performance.now()
  let sent = 0
  let receipts = 0
  return new Promise((resolve, reject) => {
    const sending = request(`${url}/Purchase/updates`, { method: 'POST', agent: false, headers: { ApiKey: apiKey } })
    sending.on('error', reject)
    sending.on('response', (response) => {
      response.setEncoding('latin1').on('data', (text: string) => {
        for (let at = text.indexOf('"message":"OK"}'); at >= 0; at = text.indexOf('"message":"OK"}', at + 1)) receipts++
      })
      response.on('end', () => {
        // A few are cut in two by the pieces that they arrive in.
        if (response.statusCode === 200 && receipts > sent * 0.9) resolve(sent / ((performance.now() - begun) / 1000))
        else reject(new Error(`${response.statusCode}: ${receipts} receipts for ${sent} lines`))
      })
    })
    const send = (): void => {
      while (performance.now() - begun < seconds * 1000) {
        let lines = ''
        for (let line = 0; line < AT_ONCE; line++) {
          sent++
          lines += `${prefix}${Math.floor(sent / 2)}","Status":${(sent % 2) + 1}${OTHER_FIELDS}\n`
        }
        if (!sending.write(lines)) {
          sending.once('drain', send)
          return
        }
      }
      sending.end()
    }
    send()
  })
}
