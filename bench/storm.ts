import type { LoadResult } from './load.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable, say } from './report.ts'
import { syncDisk } from './server-process.ts'
import { EMAIL, prepareTeslim, startTeslim } from './teslim-server.ts'

const DELIVERY_CONNECTIONS = 16
const STORM_CONNECTIONS = 200
/** The storm begins before the deliveries are measured and ends after. */
const MARGIN_SECONDS = 2

interface Storm {
  readonly name: string
  readonly fromEverywhere: boolean
}

const ONE_ADDRESS: Storm = { name: 'storm from one address', fromEverywhere: false }
const EVERYWHERE: Storm = { name: 'storm from everywhere', fromEverywhere: true }

/** Deliveries while nothing else happens and while wrong passwords come without pause, in turn, round after round. */
export async function benchStorm({ load, folder, databaseUrl, rounds, seconds }: BenchOptions): Promise<void> {
  const { apiKey } = await prepareTeslim(databaseUrl)
  const storms = load.generator === 'wrk' ? [ONE_ADDRESS, EVERYWHERE] : [ONE_ADDRESS]
  const teslim = await startTeslim(folder, databaseUrl, 'teslim', { TESLIM_TRUST_PROXY: '127.0.0.1' })
  const quiet: LoadResult[] = []
  const stormy = new Map<Storm, { deliveries: LoadResult; logins: LoadResult }[]>(storms.map((storm) => [storm, []]))
  const deliver = (time: number): Promise<LoadResult> => load.run(teslim.url, apiKey, DELIVERY_CONNECTIONS, time)
  try {
    await deliver(3)
    for (let round = 0; round < rounds; round++) {
      await syncDisk()
      quiet.push(await deliver(seconds))
      for (const [{ fromEverywhere }, results] of stormy) {
        await syncDisk()
        const login = { email: EMAIL, password: 'not the password', fromEverywhere }
        const logins = load.logIn(teslim.url, login, STORM_CONNECTIONS, seconds + 2 * MARGIN_SECONDS)
        await new Promise((resolve) => setTimeout(resolve, MARGIN_SECONDS * 1000))
        const deliveries = await deliver(seconds)
        results.push({ deliveries, logins: await logins })
      }
    }
    const middle = (results: readonly LoadResult[], of: keyof LoadResult): number =>
      median(results.map((result) => result[of]))
    const row = (name: string, deliveries: readonly LoadResult[], logins: readonly LoadResult[]): string[] => [
      name,
      middle(deliveries, 'perSecond').toFixed(0),
      middle(deliveries, 'p50').toFixed(2),
      middle(deliveries, 'p99').toFixed(2),
      median(deliveries.map(({ perSecond }, round) => perSecond / (quiet[round]?.perSecond ?? 1))).toFixed(2),
      median(deliveries.map(({ p99 }, round) => p99 / (quiet[round]?.p99 ?? 1))).toFixed(1),
      `${deliveries.reduce((sum, { failed }) => sum + failed, 0)}`,
      logins.length === 0 ? '' : middle(logins, 'perSecond').toFixed(0),
    ]
    say(
      `${load.generator}, deliveries on ${DELIVERY_CONNECTIONS} connections, logins on ${STORM_CONNECTIONS}, ${rounds} rounds of ${seconds} s each, medians`,
    )
    const heading = ['', 'deliveries/s', 'p50 ms', 'p99 ms', 'of quiet', 'p99 to quiet', 'failed', 'logins/s']
    printTable(heading, [
      row('quiet', quiet, []),
      ...Array.from(stormy, ([{ name }, results]) => {
        const deliveries = results.map((result) => result.deliveries)
        const logins = results.map((result) => result.logins)
        return row(name, deliveries, logins)
      }),
    ])
    say('in a storm: at least 0.50 of quiet, and a p99 under 5 times the quiet one')
    if (storms.length === 1) say('the storm from everywhere is left out: it needs wrk')
  } finally {
    await teslim.stop()
  }
}
