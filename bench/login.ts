import { execFile } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { LoadResult } from './load.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable, say } from './report.ts'
import { type BenchServer, startServer, syncDisk } from './server-process.ts'
import { EMAIL, prepareTeslim, startTeslim } from './teslim-server.ts'

const servers = join(import.meta.dirname, 'servers')
/** Enough that the threads that hash always have work, few enough that none is turned away. */
const COLD_CONNECTIONS = 8

interface Round {
  readonly bare: LoadResult
  readonly hot: LoadResult
  readonly cold: LoadResult
  /** Verified a second by a process that does nothing else. */
  readonly argon2: number
}

/** Bare Fastify, hot logins, cold logins and Argon2 alone, in turn, round after round. */
export async function benchLogin({ load, folder, rounds, seconds, connections }: BenchOptions): Promise<void> {
  const database = join(folder, 'teslim.db')
  const { password } = await prepareTeslim(`sqlite:${database}`)
  const cold = join(folder, 'cold.db')
  copyFileSync(database, cold)
  const login = { email: EMAIL, password }
  const concurrency = Math.max(1, availableParallelism() - 1)
  const argon2 = async (): Promise<number> => {
    const args = [join(servers, 'argon2.ts'), `${concurrency}`, `${seconds}`]
    return Number((await promisify(execFile)(process.execPath, args)).stdout)
  }
  const started: BenchServer[] = []
  const start = async (server: Promise<BenchServer>): Promise<BenchServer> => {
    started.push(await server)
    return server
  }
  try {
    const bare = await start(startServer('bare', [join(servers, 'bare-login.ts')], folder))
    const hot = await start(startTeslim(folder, `sqlite:${database}`, 'teslim'))
    const coldSettings = { TESLIM_LOGIN_MEMORY: '0', TESLIM_TRUST_PROXY: 'loopback' }
    const coldServer = await start(startTeslim(folder, `sqlite:${cold}`, 'teslim-cold', coldSettings))
    const measure = (server: BenchServer, time: number): Promise<LoadResult> =>
      load.logIn(server.url, login, connections, time)
    // Equal logins that come from one network at once would share one hash.
    const measureCold = (time: number): Promise<LoadResult> =>
      load.logIn(coldServer.url, { ...login, fromEverywhere: true }, COLD_CONNECTIONS, time)
    for (const server of [bare, hot]) await measure(server, 3)
    await measureCold(2)

    const results: Round[] = []
    for (let round = 0; round < rounds; round++) {
      await syncDisk()
      results.push({
        bare: await measure(bare, seconds),
        hot: await measure(hot, seconds),
        cold: await measureCold(seconds),
        argon2: await argon2(),
      })
    }
    say(
      `${load.generator}, ${connections} connections (cold: ${COLD_CONNECTIONS}), ${rounds} rounds of ${seconds} s each, medians`,
    )
    const row = (name: string, of: (round: Round) => LoadResult): string[] => [
      name,
      median(results.map((round) => of(round).perSecond)).toFixed(0),
      median(results.map((round) => of(round).p50)).toFixed(2),
      median(results.map((round) => of(round).p99)).toFixed(2),
      `${results.reduce((sum, round) => sum + of(round).failed, 0)}`,
    ]
    printTable(
      ['logins', 'a second', 'p50 ms', 'p99 ms', 'failed'],
      [
        row('bare', ({ bare }) => bare),
        row('hot', ({ hot }) => hot),
        row('cold', ({ cold }) => cold),
        [`Argon2 alone, ${concurrency} at once`, median(results.map(({ argon2 }) => argon2)).toFixed(0), '', '', ''],
      ],
    )
    const ratio = (of: (round: Round) => number): string => median(results.map(of)).toFixed(2)
    say(`hot / bare           ${ratio(({ hot, bare }) => hot.perSecond / bare.perSecond)}   (at least 0.30)`)
    say(`cold / Argon2 alone  ${ratio(({ cold, argon2 }) => cold.perSecond / argon2)}   (at least 0.90)`)
  } finally {
    for (const server of started) await server.stop()
  }
}
