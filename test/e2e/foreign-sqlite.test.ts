import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { commandBlocks } from '../support/doc-blocks.ts'
import { addSupplier, deliver, missingFrom } from '../support/ledger.ts'
import { serve } from '../support/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const run = promisify(execFile)

/** The version of another SQLite, or why there is none. */
function versionOf(command: string, ...args: string[]): string | undefined {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}

const shell = versionOf('sqlite3', '--version')
const python = versionOf('python3', '-c', 'import sqlite3; print(sqlite3.sqlite_version)')
if (shell === undefined) console.log('skipped: sqlite3 is not installed, so nothing is tried beside a running server')
if (python === undefined) console.log('skipped: Python with sqlite3 is not installed')

const PYTHON = `
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as database:
    print(database.execute('SELECT count(*) FROM delivery').fetchone()[0])
database.close()`

async function underLoad() {
  const cwd = tempFolder()
  const env = { NODE_ENV: 'production' }
  const key = await addSupplier({ cwd, env })
  const server = await serve({ cwd, env })
  const load = deliver({ url: server.url, key })
  await load.more(50)
  const path = join(cwd, 'data/teslim.db')

  /** Whoever stood beside the server has left: what is acknowledged from then on must be there after a kill. */
  const killAndCompare = async (): Promise<void> => {
    await load.more(100)
    server.child.kill('SIGKILL')
    await load.stop()
    expect(missingFrom(path, load.acknowledged)).toEqual([])
    expect(load.acknowledged.length).toBeGreaterThanOrEqual(150)
  }
  return { cwd, path, server, load, killAndCompare }
}

describe('an acknowledged delivery survives a kill after', () => {
  it.runIf(shell).each([
    ['a SELECT', ['SELECT count(*) FROM delivery']],
    ['a SELECT of a read-only sqlite3', ['-readonly', 'SELECT count(*) FROM delivery']],
    ['.backup', ['.backup copy.db']],
    ['VACUUM INTO', [`VACUUM INTO 'into.db'`]],
  ])('%s beside the server', async (_, args) => {
    const { cwd, path, killAndCompare } = await underLoad()
    const options = args.filter((arg) => arg.startsWith('-'))
    const commands = args.filter((arg) => !arg.startsWith('-'))
    await run('sqlite3', [...options, '-cmd', '.timeout 10000', path, ...commands], { cwd })
    await killAndCompare()
  })

  it.runIf(shell)('an interactive sqlite3 that was held open and closed', async () => {
    const { path, load, killAndCompare } = await underLoad()
    const session = spawn('sqlite3', [path])
    session.stdout.setEncoding('utf8')
    const ask = async (sql: string): Promise<string> => {
      session.stdin.write(`${sql}\n`)
      const [line] = await once(session.stdout, 'data')
      return line
    }
    expect(Number(await ask('SELECT count(*) FROM delivery;'))).toBeGreaterThanOrEqual(50)
    await load.more(50)
    expect(Number(await ask('SELECT count(*) FROM delivery;'))).toBeGreaterThanOrEqual(100)
    await ended(session)
    await killAndCompare()
  })

  it.runIf(python)('a script of Python', async () => {
    const { path, killAndCompare } = await underLoad()
    const { stdout } = await run('python3', ['-c', PYTHON, path])
    expect(Number(stdout)).toBeGreaterThanOrEqual(50)
    await killAndCompare()
  })
})

describe('an acknowledged delivery survives a kill after what docs/operations.md says may stand beside the server:', () => {
  const page = 'docs/operations.md'
  const source = readFileSync(page, 'utf8').split('\n')
  const start = source.indexOf('## Work on the file beside a running server')
  const end = source.findIndex((line, index) => index > start && line.startsWith('## '))
  const blocks = commandBlocks(page).filter(({ line }) => line > start && line < end)
  const commands = blocks.flatMap(({ text }) => text.trim().split('\n'))

  it('there are such commands', () => expect(commands.length).toBeGreaterThan(1))

  it.runIf(shell).each(commands)('%s', async (command) => {
    const { cwd, killAndCompare } = await underLoad()
    await run('sh', ['-ec', command], { cwd })
    await killAndCompare()
  })
})

async function ended(session: ChildProcess): Promise<void> {
  session.stdin?.end('.quit\n')
  expect(await once(session, 'exit')).toEqual([0, null])
}

it.runIf(process.platform === 'linux')('the server holds its locks on the file for as long as it runs', async () => {
  const { path, server, load } = await underLoad()
  const locks = () => {
    const { ino } = statSync(path)
    const lines = readFileSync('/proc/locks', 'utf8').split('\n')
    return lines.filter((line) => line.includes(` ${server.child.pid} `) && line.includes(`:${ino} `))
  }
  expect(locks()).toHaveLength(1)
  await load.more(500)
  expect(locks()).toHaveLength(1)
  server.child.kill('SIGTERM')
  await load.stop()
  await server.ended
  expect(locks()).toEqual([])
})
