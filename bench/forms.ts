import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { measured } from './load.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable, say } from './report.ts'
import { type BenchServer, startServer, syncDisk } from './server-process.ts'
import { BIN, EMAIL, prepareTeslim } from './teslim-server.ts'

const DIST = join(import.meta.dirname, '../dist')

/** What is typed before a command. */
export interface Form {
  readonly name: string
  readonly program: string
  readonly args: readonly string[]
  readonly env?: Record<string, string>
}

/** The checkout and what `npm run build` made. The package is unpacked below the checkout, where it finds the package that it needs. */
export function formsOf(folder: string): Form[] {
  const checkout = { name: 'checkout', program: process.execPath, args: [BIN] }
  const built = existsSync(DIST) ? readdirSync(DIST) : []
  const tgz = built.find((name) => name.endsWith('.tgz'))
  if (tgz === undefined) {
    say('npm run build makes the package and the executable; only the checkout is measured')
    return [checkout]
  }
  execFileSync('tar', ['-xzf', join(DIST, tgz), '-C', folder])
  const unpacked = { program: process.execPath, args: [join(folder, 'package/bin/teslim.js')] }
  const executable = `teslim-${process.platform}-${process.arch}`
  const forms = [checkout, { name: 'package', ...unpacked }]
  if (!built.includes(executable)) return forms
  // A copy, as one that was downloaded: of a file that was just written in one piece, Linux maps larger parts.
  const program = join(folder, executable)
  copyFileSync(join(DIST, executable), program)
  return [...forms, { name: 'executable', program, args: [] }]
}

/** Deliveries and hot logins to each form in turn, each with a store of its own. */
export async function benchForms({ load, folder, rounds, seconds, connections }: BenchOptions): Promise<void> {
  const servers: BenchServer[] = []
  try {
    const sideOf = async ({ name, program, args }: Form) => {
      const own = join(folder, `data-${name}`)
      mkdirSync(own)
      const settings = { DATABASE_URL: `sqlite:${join(own, 'teslim.db')}` }
      const { apiKey, password } = await prepareTeslim(settings.DATABASE_URL)
      const server = await startServer(`teslim-${name}`, [...args, 'serve'], own, settings, program)
      servers.push(server)
      const login = { email: EMAIL, password }
      const deliver = (time: number) => measured(server, () => load.run(server.url, apiKey, connections, time))
      const logIn = (time: number) => measured(server, () => load.logIn(server.url, login, connections, time))
      return { name, server, kinds: [deliver, logIn].map((run) => ({ run, costs: [] as number[] })) }
    }
    const sides: Awaited<ReturnType<typeof sideOf>>[] = []
    for (const form of formsOf(folder)) sides.push(await sideOf(form))
    // The first round warms up.
    for (let round = 0; round <= rounds; round++) {
      await syncDisk()
      for (const { kinds } of round % 2 === 0 ? sides : sides.toReversed())
        for (const { run, costs } of kinds) costs[round] = (await run(seconds)).microseconds
    }
    const costsOf = (side: (typeof sides)[number] | undefined, kind: number) => side?.kinds[kind]?.costs.slice(1) ?? []
    say(`${load.generator}, ${connections} connections, ${rounds} rounds of ${seconds} s each in turn`)
    printTable(
      ['', 'of', 'us of CPU', 'to the checkout', 'rounds in its favour'],
      ['a delivery', 'a hot login'].flatMap((of, kind) =>
        sides.map((side) => {
          const ratios = costsOf(side, kind).map((cost, round) => cost / (costsOf(sides[0], kind)[round] ?? Number.NaN))
          const better = ratios.filter((ratio) => ratio < 1).length
          return [side.name, of, median(costsOf(side, kind)).toFixed(1), median(ratios).toFixed(3), `${better}`]
        }),
      ),
    )
  } finally {
    for (const server of servers) await server.stop()
  }
}
