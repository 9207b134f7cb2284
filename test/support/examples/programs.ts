import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { atTheEnd } from '../at-the-end.ts'
import { tempFolder } from '../temp-folder.ts'

export const EXAMPLES = fileURLToPath(new URL('../../../examples/', import.meta.url))

export const works = (program: string, ...words: string[]) => spawnSync(program, words).status === 0
/** The interpreter itself: where several versions are installed, `python3` is a script that looks for one, three times as slow. */
export const python = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], {
  encoding: 'utf8',
}).stdout?.trim()
export const hasDotnet = Number.parseInt(spawnSync('dotnet', ['--version']).stdout?.toString(), 10) >= 10

/** A program of examples/ for back offices, and what it has stored. */
export interface Example {
  readonly file: string
  /** `place` is where it stores: a file or a folder. `port` is for a receiver. */
  readonly command: (place: string, port: number) => readonly (string | undefined)[]
  readonly isInstalled: boolean
  /** What must be installed. */
  readonly needs: string
  /** The payloads by receipt. */
  readonly payloads: (place: string) => Map<string, string>
  /** The Status of each order, by customer and order id. */
  readonly states: (place: string) => Record<string, number>
  /** Does what a back office does with the files of an inbox. */
  readonly process?: (place: string) => void
  /** What a follower goes on with. */
  readonly cursor?: (place: string) => unknown
  /** Makes a follower go on elsewhere: at a cursor, or at what is left. Returns further arguments for it. */
  readonly goOn?: (place: string, cursor?: string) => readonly string[]
}

interface Stored {
  readonly path: string
  readonly customer: string
  readonly receipt: string
  readonly delivery: { readonly OrderID: string; readonly Status: number }
  readonly payload: string
}

/** What a folder has of each customer, the oldest first. What is processed already has been moved to `done`. */
function storedIn(inbox: string): Stored[] {
  const age = (path: string): bigint => statSync(path, { bigint: true }).mtimeNs
  return globSync([join(inbox, '*/*.json'), join(inbox, '*/done/*.json')])
    .sort((one, other) => Number(age(one) - age(other)))
    .map((path) => {
      const text = readFileSync(path, 'utf8')
      const folder = dirname(path)
      const read = JSON.parse(text)
      return {
        path,
        customer: basename(basename(folder) === 'done' ? dirname(folder) : folder),
        receipt: basename(path, '.json'),
        delivery: read.data ?? read,
        payload: /"Payload":(\{[^}]*\})/.exec(text)?.[1] ?? '',
      }
    })
}

const inFolder = {
  payloads(inbox: string) {
    const all = storedIn(inbox)
    const found = new Map(all.map(({ receipt, payload }) => [receipt, payload]))
    if (found.size < all.length) throw new Error('what is processed came again')
    return found
  },
  states: (inbox: string) =>
    Object.fromEntries(
      storedIn(inbox).map(({ customer, delivery }) => [`${customer} ${delivery.OrderID}`, delivery.Status]),
    ),
  process(inbox: string) {
    for (const { path } of storedIn(inbox)) renameSync(path, join(dirname(path), 'done', basename(path)))
  },
}

function rowsOf(path: string, query: string): Record<string, unknown>[] {
  if (!existsSync(path)) return []
  const database = new DatabaseSync(path, { timeout: 5000 })
  try {
    return database.prepare(query).all()
  } catch (error) {
    // The program has just begun.
    if (/no such table/.test(String(error))) return []
    throw error
  } finally {
    database.close()
  }
}

const inTable = {
  payloads: (path: string) =>
    new Map(
      rowsOf(path, 'SELECT receipt, payload FROM delivery').map(({ receipt, payload }) => [
        String(receipt),
        String(payload),
      ]),
    ),
  states: (path: string) =>
    Object.fromEntries(
      rowsOf(path, 'SELECT customer, order_id, status FROM order_state').map(({ customer, order_id, status }) => [
        `${customer} ${order_id}`,
        Number(status),
      ]),
    ),
}

export const followers: readonly Example[] = [
  {
    file: 'follower.js',
    command: (place) => [process.execPath, join(EXAMPLES, 'follower.js'), place],
    isInstalled: true,
    needs: 'node',
    cursor: (place) => rowsOf(place, 'SELECT value FROM cursor')[0]?.value,
    goOn: (_place, cursor) => ['--again', ...(cursor === undefined ? [] : [cursor])],
    ...inTable,
  },
  {
    file: 'follow.sh',
    command: (place) => ['sh', join(EXAMPLES, 'follow.sh'), place],
    isInstalled: works('curl', '--version'),
    needs: 'curl',
    cursor: (place) => existsSync(join(place, 'cursor')) && readFileSync(join(place, 'cursor'), 'utf8').trim(),
    goOn(place, cursor) {
      if (cursor === undefined) rmSync(join(place, 'cursor'))
      else writeFileSync(join(place, 'cursor'), `${cursor}\n`)
      return []
    },
    ...inFolder,
  },
]

const receiver = (
  file: string,
  words: readonly (string | undefined)[],
  isInstalled: boolean,
  needs: string,
): Example => ({
  file,
  command: (_place, port) => [...words.map((word) => word?.replace('PORT', String(port))), join(EXAMPLES, file)],
  isInstalled,
  needs,
  ...inFolder,
})

export const receivers: readonly Example[] = [
  receiver('receive.php', ['php', '-S', '127.0.0.1:PORT'], works('php', '--version'), 'php'),
  receiver('receive.cs', ['dotnet', 'run'], hasDotnet, 'dotnet 10'),
  receiver('receive.go', ['go', 'run'], works('go', 'version'), 'go'),
  receiver('receive.py', [python], Boolean(python), 'python3'),
  receiver('receive.mjs', [process.execPath], true, 'node'),
]

/** Says which are not run. */
export function announceMissing(examples: readonly Example[]): void {
  for (const { file, isInstalled, needs } of examples)
    if (!isInstalled) console.info(`examples/${file} is not run: ${needs} is not installed`)
}

export interface Running {
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  said(): string
  /** The exit status. */
  readonly ended: Promise<number | null>
  /** Ends it, and all that it has started. */
  kill(): Promise<void>
}

/** Starts a program in a folder of its own; killed at the end of the test, or of the file where no test is under way. */
export function startExample(
  { command }: Example,
  place: string,
  { port = 0, env = {}, more = [] }: { port?: number; env?: Record<string, string>; more?: readonly string[] } = {},
): Running {
  const [program = '', ...words] = command(place, port) as string[]
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(program, [...words, ...more], {
    env: { PATH, HOME, WEBHOOK_INBOX: place, PORT: String(port), ...env },
    cwd: tempFolder(),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that what a shell has started ends with it.
    detached: true,
  })
  let said = ''
  child.stdout.resume()
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    said += part
  })
  const ended = once(child, 'exit').then(([status]) => status as number | null)
  const kill = async (): Promise<void> => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // It has ended.
    }
    await ended
  }
  atTheEnd(kill)
  return { child, said: () => said, ended, kill }
}
