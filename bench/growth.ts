import { statSync } from 'node:fs'
import type { Load } from './load.ts'
import type { BenchOptions } from './main.ts'
import { median, printTable } from './report.ts'
import { prepareTeslim, startTeslim } from './teslim-server.ts'

const STEPS = [0, 1_000_000, 2_000_000, 5_000_000]

/** The same load on a store with more and more deliveries in it, which the load itself puts there. */
export async function benchGrowth(load: Load, options: BenchOptions): Promise<void> {
  const { folder, rounds, seconds, connections, most } = options
  const { database, apiKey } = await prepareTeslim(folder)
  const server = await startTeslim(folder, database)
  const rows: string[][] = []
  let stored = 0
  let first = 0
  const deliver = async (time: number) => {
    const result = await load.run(server.url, apiKey, connections, time)
    stored += result.answered - result.failed
    return result
  }
  try {
    await deliver(3)
    for (const step of STEPS.filter((step) => step <= most)) {
      while (stored < step) {
        await deliver(5)
        process.stderr.write(`\r${(stored / 1e6).toFixed(2)} of ${step / 1e6} million stored `)
      }
      const results = []
      for (let round = 0; round < rounds; round++) results.push(await deliver(seconds))
      const perSecond = median(results.map((result) => result.perSecond))
      first ||= perSecond
      const bytes = statSync(database).size / stored
      const p99 = median(results.map((result) => result.p99)).toFixed(2)
      rows.push([`${step / 1e6} M`, perSecond.toFixed(0), p99, (perSecond / first).toFixed(2), bytes.toFixed(0)])
    }
    process.stderr.write('\r')
    console.log(`${load.generator}, ${connections} connections, ${rounds} rounds of ${seconds} s at each step, medians`)
    printTable(['stored', 'req/s', 'p99 ms', 'of the first', 'bytes each'], rows)
  } finally {
    await server.stop()
  }
}
