import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { withContenders } from './contenders.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable, say } from './report.ts'
import type { BenchServer } from './server-process.ts'

const NAMES = ['bare', 'obvious-wal', 'least', 'teslim'] as const
/** Half a minute after a start V8 collects what the start has left. */
const IDLE_SECONDS = 60
const LOAD_SECONDS = 8
const AFTER_LOAD_SECONDS = 10

interface Measured {
  readonly state: string
  readonly name: string
  /** Resident megabytes when the time began. */
  readonly memory: number
  /** Processor time of a second. */
  readonly milliseconds: number
  /** In a second. */
  readonly wakeUps: number
}

/** What servers use while no request comes, each round with new ones. */
export async function benchIdle({ load, folder, rounds, seconds, connections }: BenchOptions): Promise<void> {
  const measured: Measured[] = []
  for (let round = 0; round < rounds; round++) {
    await withContenders(join(folder, `round-${round}`), NAMES, async (servers, apiKey) => {
      const all = NAMES.map((name) => servers[name])
      const watch = async (state: string, server: BenchServer): Promise<void> => {
        const { name } = server
        const memory = server.memory()
        const used = server.meter()
        await wait(seconds * 1000)
        const { milliseconds, wakeUps } = used()
        measured.push({ state, name, memory, milliseconds: milliseconds / seconds, wakeUps: wakeUps / seconds })
      }
      await Promise.all(all.map((server) => watch('just started', server)))
      await wait(Math.max(0, IDLE_SECONDS - seconds) * 1000)
      await Promise.all(all.map((server) => watch(`after ${IDLE_SECONDS} s`, server)))
      for (const server of all) {
        await load.run(server.url, apiKey, connections, LOAD_SECONDS)
        await wait(AFTER_LOAD_SECONDS * 1000)
        await watch(`${AFTER_LOAD_SECONDS} s after full load`, server)
      }
    })
  }
  say(`each for ${seconds} s, medians of ${rounds} starts`)
  const states = new Set(measured.map(({ state }) => state))
  printTable(
    ['', 'server', 'memory MB', 'ms of processor a second', 'wake-ups a second'],
    [...states].flatMap((state) =>
      NAMES.map((name) => {
        const middle = (of: 'memory' | 'milliseconds' | 'wakeUps') =>
          median(measured.filter((one) => one.state === state && one.name === name).map((one) => one[of]))
        return [state, name, `${middle('memory')}`, middle('milliseconds').toFixed(2), middle('wakeUps').toFixed(1)]
      }),
    ),
  )
  say('aims: at most 1 ms of processor and at most 5 wake-ups a second')
}
