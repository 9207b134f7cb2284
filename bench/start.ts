import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import { type Form, formsOf } from './forms.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable, say } from './report.ts'
import { memoryIn, startServer } from './server-process.ts'
import { EMAIL, prepareTeslim } from './teslim-server.ts'

/** Milliseconds of processor time that the package may take. */
const AIMS: Readonly<Record<string, number | undefined>> = { version: 50, 'key issue': 90, serve: 250 }

/** What a start takes until the command ends, or until the server is ready. */
interface Cost {
  readonly milliseconds: number
  readonly resident: number
  /** Resident memory without the pages of files, which processes share and the system drops when it needs room. */
  readonly own: number
}

/** Starts Node alone, the checkout, and what `npm run build` made, in turn. */
export async function benchStart({ folder, databaseUrl, rounds }: BenchOptions): Promise<void> {
  await prepareTeslim(databaseUrl)
  const settings = { DATABASE_URL: databaseUrl, TESLIM_OPS_PORT: '0' }
  const node: Form = { name: 'node', program: process.execPath, args: [] }
  const starts = [
    { form: node, name: 'nothing', cost: () => runCommand(node, ['-e', '0'], {}) },
    { form: node, name: 'node:http', cost: () => runCommand(node, ['-e', "require('node:http')"], {}) },
    ...withoutCache(formsOf(folder)).flatMap((form) => [
      { form, name: 'version', cost: () => runCommand(form, ['version'], settings) },
      { form, name: 'key issue', cost: () => runCommand(form, ['key', 'issue', '--customer', EMAIL], settings) },
      { form, name: 'serve', cost: () => runServer(form, folder, settings) },
    ]),
  ].map((start) => ({ ...start, costs: [] as Cost[] }))
  // The first round fills the caches.
  for (let round = 0; round <= rounds; round++) {
    for (const { costs, cost } of starts) costs[round] = await cost()
  }
  const costsOf = (wanted: string, command: string): Cost[] =>
    starts.find(({ form, name }) => form.name === wanted && name === command)?.costs.slice(1) ?? []
  say(`${rounds} rounds in turn, medians; the aims are for the package, which when it serves should need 15 MB`)
  say('less memory of its own than the checkout')
  printTable(
    ['', 'command', 'CPU ms', 'aim', 'to the checkout', 'to node', 'resident MB', 'of its own'],
    starts.map(({ form, name }) => {
      const costs = costsOf(form.name, name)
      const ratioTo = (others: readonly Cost[]): string => {
        const ratios = others.map(
          ({ milliseconds }, round) => (costs[round]?.milliseconds ?? Number.NaN) / milliseconds,
        )
        return ratios.length === 0 ? '' : median(ratios).toFixed(2)
      }
      return [
        form.name,
        name,
        median(costs.map(({ milliseconds }) => milliseconds)).toFixed(0),
        form.name.startsWith('package') ? `${AIMS[name]}` : '',
        ratioTo(costsOf('checkout', name)),
        ratioTo(costsOf('node', 'nothing')),
        median(costs.map(({ resident }) => resident)).toFixed(0),
        median(costs.map(({ own }) => own)).toFixed(0),
      ]
    }),
  )
}

/** Adds the package as it is for somebody who may not write where it was installed. */
const withoutCache = (forms: readonly Form[]): Form[] =>
  forms.flatMap((form) =>
    form.name === 'package'
      ? [form, { ...form, name: 'package, no cache', env: { NODE_DISABLE_COMPILE_CACHE: '1' } }]
      : [form],
  )

/** Runs a command until it ends. */
export async function runCommand(
  { program, args, env }: Form,
  command: string[],
  settings: Record<string, string>,
): Promise<Cost> {
  const { PATH = '' } = process.env
  const child = spawn(program, [...args, ...command], {
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    env: { PATH, NODE_OPTIONS: `--require=${join(import.meta.dirname, 'usage.cjs')}`, ...env, ...settings },
  })
  const ended = once(child, 'exit')
  const told = (await json(child.stdio[3] as Readable)) as { milliseconds: number; status: string }
  const [status] = await ended
  if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}`)
  const { milliseconds, status: memory } = told
  return { milliseconds, resident: memoryIn(memory, 'VmHWM'), own: memoryIn(memory, 'RssAnon') }
}

/** Starts a server until it is ready. */
export async function runServer({ name, program, args, env }: Form, folder: string, settings: Record<string, string>) {
  const server = await startServer(`teslim-${name}`, [...args, 'serve'], folder, { ...env, ...settings }, program)
  try {
    const { status } = await fetch(`${server.url}/readyz`)
    if (status !== 200) throw new Error(`/readyz answered ${status}`)
    return { milliseconds: server.cpuMilliseconds(), resident: server.memory(), own: server.memory('RssAnon') }
  } finally {
    await server.stop()
  }
}
