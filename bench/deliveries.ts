import { withContenders } from './contenders.ts'
import { type MeasuredLoad, measured, WARM_UP_SECONDS } from './load.ts'
import type { BenchOptions } from './options.ts'
import { fdatasync, median, printTable, say } from './report.ts'
import { type BenchServer, syncDisk } from './server-process.ts'

const NAMES = ['bare', 'least', 'obvious', 'obvious-wal', 'teslim'] as const

/** Bare Fastify, the least that storing costs, the obvious implementation and teslim, in turn, round after round. */
export async function benchDeliveries({
  load,
  folder,
  rounds,
  seconds,
  connections,
  shape,
}: BenchOptions): Promise<void> {
  say(shape.description)
  say(`${load.generator}, ${connections} connections, ${rounds} rounds of ${seconds} s each, medians`)
  await withContenders(folder, NAMES, async (servers, apiKey) => {
    const { bare, least, obvious, 'obvious-wal': obviousWal, teslim } = servers
    const started = NAMES.map((name) => servers[name])
    const results = new Map<BenchServer, MeasuredLoad[]>(started.map((server) => [server, []]))
    for (const server of started) await load.run(server.url, apiKey, connections, WARM_UP_SECONDS)
    for (let round = 0; round < rounds; round++) {
      for (const [server, list] of results) {
        await syncDisk()
        list.push(await measured(server, () => load.run(server.url, apiKey, connections, seconds)))
      }
    }
    const middle = (server: BenchServer, of: keyof MeasuredLoad): number =>
      median((results.get(server) ?? []).map((result) => result[of]))
    const rows = started.map((server) => [
      server.name,
      middle(server, 'perSecond').toFixed(0),
      middle(server, 'p50').toFixed(2),
      middle(server, 'p99').toFixed(2),
      middle(server, 'microseconds').toFixed(0),
      `${server.memory()}`,
      `${(results.get(server) ?? []).reduce((sum, { failed }) => sum + failed, 0)}`,
    ])
    printTable(['server', 'req/s', 'p50 ms', 'p99 ms', 'us of processor each', 'memory MB', 'failed'], rows)

    const ratios = (one: BenchServer, other: BenchServer): number[] =>
      (results.get(one) ?? []).map((result, round) => result.perSecond / (results.get(other)?.[round]?.perSecond ?? 1))
    const toTail = (other: BenchServer): string => (middle(teslim, 'p99') / middle(other, 'p99')).toFixed(1)
    const ofBare = ratios(teslim, bare)
    say(
      `teslim / bare     ${median(ofBare).toFixed(2)}   (at least 0.80), lowest ${Math.min(...ofBare).toFixed(2)} (0.70)`,
    )
    say(`least / bare      ${median(ratios(least, bare)).toFixed(2)}`)
    say(`teslim / least    ${median(ratios(teslim, least)).toFixed(2)}   (at least 0.85)`)
    say(`teslim / obvious  ${median(ratios(teslim, obvious)).toFixed(1)}   (at least 8)`)
    say(`teslim / obvious with a write-ahead log  ${median(ratios(teslim, obviousWal)).toFixed(1)}`)
    say(`p99 / bare's p99  ${toTail(bare)}   (at most 2.5)`)
    say(`p99 / least's p99 ${toTail(least)}   (at most 1.5)`)

    const alone = await load.run(teslim.url, apiKey, 1, seconds)
    say(
      `alone: p50 ${alone.p50.toFixed(2)} ms, one fdatasync here ${fdatasync(folder).toFixed(2)} ms (at most 1 ms more)`,
    )
  })
}
