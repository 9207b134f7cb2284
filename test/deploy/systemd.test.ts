import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { fetch } from '../support/checked-fetch.ts'
import { serveSandbox, teslim } from '../support/process.ts'
import { settingProblems } from '../support/setting-problems.ts'
import { tempFolder } from '../support/temp-folder.ts'

const folder = resolve(import.meta.dirname, '../../deploy/systemd')
const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
const unit = read('teslim.service')
const page = read('README.md')
const settings = parseEnv(read('teslim.env.example'))
const linesOf = (name: string): string[] =>
  Array.from(unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm')), ([, value = '']) => value)
const setTo = (name: string): string | undefined => linesOf(name)[0]

const analyze = (...words: string[]) => spawnSync('systemd-analyze', words, { encoding: 'utf8' })
/** From systemd 250 on it judges units that are not installed. */
const canAnalyze = Number.parseInt(analyze('--version').stdout?.replace(/^systemd /, '') ?? '', 10) >= 250
if (!canAnalyze) console.info('the unit is not judged by systemd-analyze: it is not installed, or older than 250')
const canTrace = canAnalyze && spawnSync('strace', ['-D', 'true']).status === 0
if (!canTrace) console.info('the system calls of the unit are not tested: strace or systemd-analyze cannot be used')

/** Writes the unit with the path of this Node, because `verify` looks for the program. */
function unitHere(): string {
  const path = join(tempFolder(), 'teslim.service')
  writeFileSync(path, unit.replace('/usr/bin/node', process.execPath))
  return path
}

it.runIf(canAnalyze)('systemd-analyze finds nothing wrong with the unit of the backups', () => {
  const path = join(tempFolder(), 'teslim-backup.service')
  writeFileSync(path, read('teslim-backup.service').replace('/usr/bin/node', process.execPath))
  const { status, stderr } = analyze('verify', path)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})

/** Returns the system calls that a SystemCallFilter allows, with its groups resolved. */
function allowedCalls(filters: readonly string[]): Set<string> {
  const groups = new Map<string, string[]>()
  for (const [, name = '', members = ''] of analyze('syscall-filter').stdout.matchAll(/^(@\S+)\n((?: {4}.+\n?)*)/gm))
    groups.set(
      name,
      members.split('\n').map((line) => line.trim()),
    )
  const callsOf = (name: string): string[] =>
    name.startsWith('@') ? (groups.get(name) ?? []).flatMap(callsOf) : [name]
  const allowed = new Set(callsOf('@default'))
  for (const filter of filters) {
    const calls = filter.replace('~', '').split(' ').flatMap(callsOf)
    for (const call of calls) filter.startsWith('~') ? allowed.delete(call) : allowed.add(call)
  }
  return allowed
}

describe('the systemd unit', () => {
  it.runIf(canAnalyze)('passes systemd-analyze verify, and its security check below an exposure of 1.5', () => {
    const path = unitHere()
    expect(analyze('verify', path)).toMatchObject({ status: 0, stdout: '', stderr: '' })
    const { status, stdout } = analyze('security', '--offline=true', '--threshold=15', path)
    console.info(stdout.trim().split('\n').at(-1))
    expect(status, stdout).toBe(0)
  })

  it.runIf(canTrace)(
    'allows every system call of a server that takes a login and a delivery',
    async () => {
      const cwd = tempFolder()
      const calls = join(cwd, 'calls')
      const where = { cwd, through: ['strace', '-D', '-f', '-c', '-o', calls] }
      const { server, email, password, apiKey } = await serveSandbox(where)
      const post = (path: string, headers: Record<string, string>, body: object) =>
        fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
      const json = { 'content-type': 'application/json' }
      expect((await post('/Login/Customer/Api/Verify', json, { Email: email, Password: password })).status).toBe(200)
      expect((await post('/Purchase/update', { ApiKey: apiKey }, { OrderID: '1', Status: 1 })).status).toBe(200)
      server.child.kill('SIGTERM')
      expect(await server.ended).toBe(0)
      // strace, which outlives the server, writes its table then: one line for each system call, whose name comes last.
      const table = () => (existsSync(calls) ? readFileSync(calls, 'utf8') : '')
      await expect.poll(table, { timeout: 10_000 }).toMatch(/ total\n$/)
      const made = new Set(Array.from(table().matchAll(/^ *[\d.]+ .* (\w+)$/gm), ([, call = '']) => call))
      // The line of totals, and what SQLite does only as root.
      for (const name of ['total', 'fchown']) made.delete(name)
      expect(made.size).toBeGreaterThan(40)
      const allowed = allowedCalls(linesOf('SystemCallFilter'))
      expect([...made].filter((call) => !allowed.has(call))).toEqual([])
    },
    60_000,
  )

  it('starts what the page installs, as a user that may write to its own folder only', () => {
    expect(setTo('ExecStart')).toBe('/usr/bin/node --disable-sigusr1 /opt/teslim/bin/teslim.js serve')
    expect([setTo('User'), setTo('StateDirectory'), setTo('ProtectSystem')]).toEqual(['teslim', 'teslim', 'strict'])
    expect(settings.DATABASE_URL).toBe(`sqlite:/var/lib/${setTo('StateDirectory')}/teslim.db`)
    expect(page).toContain(`/deploy/systemd/teslim.env.example ${setTo('EnvironmentFile')}\n`)
    expect(page).toContain(`/dev/stdin ${settings.TESLIM_SECRET_FILE}\n`)
    expect(page).toContain(`/deploy/systemd/teslim.sh /usr/local/bin/teslim\n`)
    expect(read('teslim.sh')).toContain(`--env-file=${setTo('EnvironmentFile')} /opt/teslim/bin/teslim.js "$@"`)
    expect(statSync(join(folder, 'teslim.sh')).mode & 0o111).toBe(0o111)
    const shell = Array.from(page.matchAll(/^```bash\n([\s\S]*?)^```$/gm), ([, commands = '']) => commands)
    expect(spawnSync('bash', ['-n'], { input: shell.join('\n'), encoding: 'utf8' })).toMatchObject({
      status: 0,
      stderr: '',
    })
    for (const [path = ''] of page.matchAll(/(?<=\/opt\/teslim\/)deploy\/\S+/g))
      expect(existsSync(join(folder, '../..', path)), path).toBe(true)
  })

  it('names settings that exist, with values that are allowed, and needs the secret', () => {
    const secret = join(tempFolder(), 'secret')
    const problems = () => settingProblems({ ...settings, TESLIM_SECRET_FILE: secret })
    expect(problems()).toEqual([expect.stringMatching(/^TESLIM_SECRET_FILE: .*a file that can be read \(ENOENT\)$/)])
    writeFileSync(secret, 'bm90IGEgc2VjcmV0IGF0IGFsbA==\n')
    expect(problems()).toEqual([])
    expect(settings.NODE_ENV).toBe('production')
  })

  it('quotes every setting, so that systemd and Node read the same value', () => {
    const lines = read('teslim.env.example').split('\n')
    const unquoted = lines.filter((line) => !/^(?:#.*|[A-Z_]+='[^'\\]*')?$/.test(line))
    expect(unquoted).toEqual([])
    // Node cuts off at a # what systemd keeps.
    expect(parseEnv("CUT=abc#def\nWHOLE='abc#def'")).toEqual({ CUT: 'abc', WHOLE: 'abc#def' })
  })

  it('gives a server the time to finish and the files that it needs', () => {
    const { shutdownSeconds, maxConnections } = loadConfig({
      TESLIM_SHUTDOWN_SECONDS: settings.TESLIM_SHUTDOWN_SECONDS,
    }).config
    expect(Number(setTo('TimeoutStopSec'))).toBeGreaterThan(shutdownSeconds)
    expect(Number(setTo('LimitNOFILE'))).toBeGreaterThan(maxConnections + 1000)
  })

  it('restarts after a port in use or a database away, and not after a wrong setting', async () => {
    expect([setTo('Restart'), setTo('RestartPreventExitStatus'), setTo('StartLimitIntervalSec')]).toEqual([
      'on-failure',
      '2',
      '0',
    ])
    const cwd = tempFolder()
    const start = (env: Record<string, string>) => teslim(['serve'], { cwd, env: { NODE_ENV: 'production', ...env } })
    expect(await start({ PORT: 'none' })).toMatchObject({ status: 2, stderr: expect.stringContaining('PORT') })
    const other = createServer().listen(0)
    onTestFinished(() => void other.close())
    await once(other, 'listening')
    const PORT = String((other.address() as AddressInfo).port)
    expect(await start({ PORT })).toMatchObject({ status: 1, stderr: expect.stringContaining('the port is in use') })
    expect(await start({ DATABASE_URL: 'postgres://teslim@127.0.0.1:1/teslim' })).toMatchObject({ status: 1 })
  }, 60_000)
})
