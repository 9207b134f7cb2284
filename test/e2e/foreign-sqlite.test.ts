import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { commandBlocks } from '../support/docs/doc-blocks.ts'
import { deliver, keyOfSupplier, missingFrom } from '../support/processes/ledger.ts'
import { serve } from '../support/processes/process.ts'
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

const cwd = tempFolder()
const env = { NODE_ENV: 'production' }
const key = await keyOfSupplier({ cwd, env })
const server = await serve({ cwd, env })
const path = join(cwd, 'data/teslim.db')
const load = deliver({ url: server.url, key, clients: 4 })
afterAll(load.stop)
await load.more(50)

/** Whoever stood beside the server has left: what is acknowledged from then on must be in the files that a kill would leave. */
async function expectToSurvive(): Promise<void> {
  await load.more(100)
  const left = join(tempFolder(), 'teslim.db')
  server.child.kill('SIGSTOP')
  const acknowledged = [...load.acknowledged]
  for (const end of ['', '-wal']) copyFileSync(path + end, left + end)
  server.child.kill('SIGCONT')
  expect(missingFrom(left, acknowledged)).toEqual([])
  expect(locks()).toHaveLength(1)
}

/** The locks of the server on the file. */
function locks(): string[] {
  if (process.platform !== 'linux') return ['elsewhere they are not listed']
  const { ino } = statSync(path)
  const lines = readFileSync('/proc/locks', 'utf8').split('\n')
  return lines.filter((line) => line.includes(` ${server.child.pid} `) && line.includes(`:${ino} `))
}

// Whatever stood beside it, the server holds its lock on the file, has refused nothing, and a kill loses nothing.
afterAll(async () => {
  await load.more(100)
  expect(locks()).toHaveLength(1)
  expect([...load.others]).toEqual([])
  server.child.kill('SIGKILL')
  await load.stop()
  await server.ended
  expect(missingFrom(path, load.acknowledged)).toEqual([])
})

async function ended(session: ChildProcess): Promise<void> {
  session.stdin?.end('.quit\n')
  expect(await once(session, 'exit')).toEqual([0, null])
}

describe('an acknowledged delivery survives a kill after', () => {
  it.runIf(shell).each([
    ['a SELECT', ['SELECT count(*) FROM delivery']],
    ['a SELECT of a read-only sqlite3', ['-readonly', 'SELECT count(*) FROM delivery']],
    ['.backup', ['.backup backup.db']],
    ['VACUUM INTO', [`VACUUM INTO 'into.db'`]],
  ])('%s beside the server', async (_, args) => {
    const options = args.filter((arg) => arg.startsWith('-'))
    const commands = args.filter((arg) => !arg.startsWith('-'))
    await run('sqlite3', [...options, '-cmd', '.timeout 10000', path, ...commands], { cwd })
    await expectToSurvive()
  })

  it.runIf(shell)('an interactive sqlite3 that was held open and closed', async () => {
    const session = spawn('sqlite3', [path])
    session.stdout.setEncoding('utf8')
    const ask = async (sql: string): Promise<string> => {
      session.stdin.write(`${sql}\n`)
      const [line] = await once(session.stdout, 'data')
      return line
    }
    const before = Number(await ask('SELECT count(*) FROM delivery;'))
    expect(before).toBeGreaterThanOrEqual(50)
    await load.more(50)
    const acknowledged = load.acknowledged.length
    expect(Number(await ask('SELECT count(*) FROM delivery;'))).toBeGreaterThanOrEqual(acknowledged)
    await ended(session)
    await expectToSurvive()
  })

  it.runIf(python)('a script of Python', async () => {
    const { stdout } = await run('python3', ['-c', PYTHON, path])
    expect(Number(stdout)).toBeGreaterThanOrEqual(50)
    await expectToSurvive()
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
    await run('sh', ['-ec', command], { cwd })
    await expectToSurvive()
  })
})
