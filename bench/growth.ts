import { copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { LoadResult } from './load.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable, say } from './report.ts'
import { syncDisk } from './server-process.ts'
import { prepareTeslim, startTeslim } from './teslim-server.ts'

const STEPS = [0, 1_000_000, 2_000_000, 5_000_000]

/** Puts one load on a growing store and, in turn, on a new one: the speed of the machine varies from run to run. */
export async function benchGrowth(options: BenchOptions): Promise<void> {
  const { load, folder, rounds, seconds, connections, most } = options
  const database = join(folder, 'teslim.db')
  const { apiKey } = await prepareTeslim(`sqlite:${database}`)
  const empty = join(folder, 'empty.db')
  copyFileSync(database, empty)
  const grown = await startTeslim(folder, `sqlite:${database}`)
  const rows: string[][] = []
  let stored = 0
  const deliver = async (time: number): Promise<LoadResult> => {
    const result = await load.run(grown.url, apiKey, connections, time)
    stored += result.answered - result.failed
    return result
  }
  try {
    for (const step of STEPS.filter((step) => step <= most)) {
      while (stored < step) {
        await deliver(5)
        process.stderr.write(`\r${(stored / 1e6).toFixed(2)} of ${step / 1e6} million stored `)
      }
      const beside = join(folder, `beside-${step}.db`)
      copyFileSync(empty, beside)
      const fresh = await startTeslim(folder, `sqlite:${beside}`, `teslim-${step}`)
      const results: { grown: LoadResult; fresh: LoadResult }[] = []
      try {
        await load.run(fresh.url, apiKey, connections, 2)
        for (let round = 0; round < rounds; round++) {
          await syncDisk()
          const besideIt = await load.run(fresh.url, apiKey, connections, seconds)
          await syncDisk()
          results.push({ grown: await deliver(seconds), fresh: besideIt })
        }
      } finally {
        await fresh.stop()
      }
      rows.push([
        `${step / 1e6} M`,
        median(results.map(({ grown }) => grown.perSecond)).toFixed(0),
        median(results.map(({ grown }) => grown.p99)).toFixed(2),
        median(results.map(({ fresh }) => fresh.perSecond)).toFixed(0),
        median(results.map(({ grown, fresh }) => grown.perSecond / fresh.perSecond)).toFixed(2),
        (statSync(database).size / stored).toFixed(0),
      ])
    }
    process.stderr.write('\r')
    say(`${load.generator}, ${connections} connections, ${rounds} rounds of ${seconds} s at each step, medians`)
    printTable(['stored', 'req/s', 'p99 ms', 'new store req/s', 'ratio', 'bytes each'], rows)
  } finally {
    await grown.stop()
  }
}
