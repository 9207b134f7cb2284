import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { shellCommand } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const hasScript = spawnSync('script', ['--version']).error === undefined
if (!hasScript)
  console.warn('the tests on a terminal are skipped: there is no command "script" to make a terminal with')

const SHOWN = /password +\S{24}\n +ApiKey +tsl_/
const INSTEAD = /a sandbox customer was created\. A log shows no credentials: .*customer set-password .*key issue /

interface Start {
  readonly redirections: string
  readonly shows: RegExp
  readonly env?: Record<string, string>
  readonly onTerminal?: boolean
}

/** Starts a server in a shell, which may send its output to the files `out` and `err`. Returns the output once some of it matches. */
async function start({ redirections, shows, env = {}, onTerminal = false }: Start) {
  const cwd = tempFolder()
  const command = `${shellCommand('serve')} ${redirections}`
  const [program = '', ...args] = onTerminal ? ['script', '-qec', command, '/dev/null'] : ['sh', '-c', command]
  const all = { PATH: process.env.PATH ?? '', TERM: 'xterm', PORT: '0', TESLIM_OPS_PORT: '0', ...env }
  const child = spawn(program, args, { cwd, env: all, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  onTestFinished(() => void process.kill(-(child.pid ?? Number.NaN), 'SIGKILL'))
  const read = { out: '', err: '' }
  for (const [name, stream] of [
    ['out', child.stdout],
    ['err', child.stderr],
  ] as const)
    stream.setEncoding('utf8').on('data', (text: string) => {
      read[name] += text.replaceAll('\r', '')
    })
  const file = (name: string): string => (existsSync(join(cwd, name)) ? readFileSync(join(cwd, name), 'utf8') : '')
  const texts = () => ({ out: read.out + file('out'), err: read.err + file('err') })
  await until(`${shows} is shown`, () => Object.values(texts()).some((text) => shows.test(text)))
  return { ...texts(), terminal: read.out, files: file('out') + file('err') }
}

const isJson = (text: string): boolean =>
  text
    .trimEnd()
    .split('\n')
    .every((line) => line.startsWith('{') && typeof JSON.parse(line) === 'object')

describe('the password and key of the sandbox are never between lines of a log in JSON', () => {
  it.each([
    ['two pipes', ''],
    ['two files', '> out 2> err'],
    ['a file and a pipe', '> out'],
    ['a pipe and a file', '2> err'],
  ])('with %s they go to stderr', async (_name, redirections) => {
    const { out, err } = await start({ redirections, shows: SHOWN })
    expect(err).toMatch(SHOWN)
    expect(isJson(out)).toBe(true)
  })

  it.each([
    ['one pipe', '2>&1'],
    ['one pipe, the other way round', '1>&2'],
    ['one file', '> out 2>&1'],
    ['one pipe to another program', '2>&1 | cat'],
  ])('with %s for both they are not shown, and the log says how to get others', async (_name, redirections) => {
    const { out, err } = await start({ redirections, shows: INSTEAD })
    expect(out + err).not.toMatch(/password {2}|tsl_/)
    expect(isJson(out + err)).toBe(true)
  })

  it('with one pipe for both and TESLIM_LOG=pretty they are shown', async () => {
    expect((await start({ redirections: '2>&1', shows: SHOWN, env: { TESLIM_LOG: 'pretty' } })).out).toMatch(SHOWN)
  })

  it.skipIf(!hasScript).each([
    ['both', '', {}],
    ['both, with TESLIM_LOG=json', '', { TESLIM_LOG: 'json' }],
    ['stdout and a file', '2> err', {}],
    ['stderr and a file', '> out', {}],
  ])('with a terminal for %s they are shown on it', async (_name, redirections, env) => {
    const { terminal, files } = await start({ redirections, shows: SHOWN, env, onTerminal: true })
    expect(terminal).toMatch(SHOWN)
    expect(files).not.toMatch(/password {2}|tsl_/)
  })
})

it('an old Node says what to install, with or without a checkout', () => {
  const old = 'data:text/javascript,Object.defineProperty(process,"versions",{value:{node:"18.20.4"}})'
  const program = fileURLToPath(new URL('../../bin/teslim.js', import.meta.url))
  const { status, stderr } = spawnSync(process.execPath, ['--import', old, program, 'version'], { encoding: 'utf8' })
  expect(status).toBe(1)
  expect(stderr).toMatch(
    /needs Node 26 or later.*: install one, or use the executable.* In a checkout npm ci installs one/,
  )
})
