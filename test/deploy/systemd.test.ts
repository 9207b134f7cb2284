import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { fetch } from '../support/app/checked-fetch.ts'
import { settingProblems } from '../support/app/setting-problems.ts'
import { freePort } from '../support/postgres/postgres-server.ts'
import { keyOfSupplier } from '../support/processes/ledger.ts'
import { serve, serveSandbox, shellCommand, startProcess, teslim } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const folder = resolve(import.meta.dirname, '../../deploy/systemd')
const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
const unit = read('teslim.service')
const page = read('README.md')
const { version } = JSON.parse(readFileSync(resolve(folder, '../../package.json'), 'utf8'))
const settings = parseEnv(read('teslim.env.example'))
const linesOf = (name: string, text = unit): string[] =>
  Array.from(text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm')), ([, value = '']) => value)
const setTo = (name: string): string | undefined => linesOf(name)[0]

const analyze = (...words: string[]) => spawnSync('systemd-analyze', words, { encoding: 'utf8' })
/** From systemd 250 on it judges units that are not installed. */
const canAnalyze = Number.parseInt(analyze('--version').stdout?.replace(/^systemd /, '') ?? '', 10) >= 250
if (!canAnalyze) console.info('the unit is not judged by systemd-analyze: it is not installed, or older than 250')
const canTrace = canAnalyze && spawnSync('strace', ['-D', 'true']).status === 0
if (!canTrace) console.info('the system calls of the unit are not tested: strace or systemd-analyze cannot be used')

const PROGRAM = '/usr/local/bin/teslim'

/** A program that stands for the installed one. */
function programHere(): string {
  const path = join(tempFolder(), 'teslim')
  writeFileSync(path, `#!/bin/sh\nexec ${shellCommand()} "$@"\n`, { mode: 0o755 })
  return path
}

/** Writes a unit with a program that is there, because `verify` looks for it. */
function unitHere(name: string): string {
  const path = join(tempFolder(), name)
  writeFileSync(path, read(name).replaceAll(PROGRAM, programHere()))
  return path
}

it('the unit runs nothing but teslim and what the smallest Debian has', () => {
  const programs = linesOf('Exec\\w+').map((line) => line.replace(/^[-@]+/, '').split(' ')[0])
  expect(new Set(programs)).toEqual(new Set([PROGRAM, '/usr/bin/timeout', '/bin/sh']))
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

/** Returns the system calls in the table of a strace that may outlive what it looks at: one line for each, whose name comes last. */
async function callsIn(path: string): Promise<Set<string>> {
  const table = () => (existsSync(path) ? readFileSync(path, 'utf8') : '')
  await expect.poll(table, { timeout: 10_000 }).toMatch(/ total\n$/)
  const made = new Set(Array.from(table().matchAll(/^ *[\d.]+ .* (\w+)$/gm), ([, call = '']) => call))
  // The line of totals, and what SQLite does only as root.
  for (const name of ['total', 'fchown']) made.delete(name)
  expect(made.size).toBeGreaterThan(40)
  return made
}

const tracing = (calls: string): string[] => ['strace', '-D', '-f', '-c', '-o', calls]

describe('the systemd unit', () => {
  it.runIf(canAnalyze).each([
    ['teslim.service', 15],
    ['teslim-backup.service', 12],
  ])('%s passes systemd-analyze verify, and its security check below an exposure of a tenth of %i', (name, most) => {
    const path = unitHere(name)
    expect(analyze('verify', path)).toMatchObject({ status: 0, stdout: '', stderr: '' })
    const { status, stdout } = analyze('security', '--offline=true', `--threshold=${most}`, path)
    console.info(stdout.trim().split('\n').at(-1))
    expect(status, stdout).toBe(0)
  })

  it('writes no memory to the disk, which holds keys and payloads, for the backups as for the server', () => {
    for (const text of [unit, read('teslim-backup.service')]) expect(linesOf('LimitCORE', text)).toEqual(['0'])
  })

  it.runIf(canTrace)(
    'allows every system call of scheduled backups',
    async () => {
      const cwd = tempFolder()
      expect(await teslim(['migrate'], { cwd })).toMatchObject({ status: 0 })
      const calls = join(cwd, 'calls')
      mkdirSync(join(cwd, 'backups'))
      const scheduled = startProcess(['backup', 'backups', '--every', '6h', '--keep', '2'], {
        cwd,
        env: { TESLIM_SECRET: 'a secret that is long enough to be one' },
        through: tracing(calls),
      })
      const ended = once(scheduled, 'close')
      await expect.poll(() => readdirSync(join(cwd, 'backups')).length, { timeout: 20_000 }).toBe(3)
      scheduled.kill('SIGTERM')
      expect((await ended)[0]).toBe(0)
      const allowed = allowedCalls(linesOf('SystemCallFilter', read('teslim-backup.service')))
      expect([...(await callsIn(calls))].filter((call) => !allowed.has(call))).toEqual([])
    },
    60_000,
  )

  it.runIf(canTrace)(
    'allows every system call of a server that takes a login and a delivery',
    async () => {
      const cwd = tempFolder()
      const calls = join(cwd, 'calls')
      const where = { cwd, through: tracing(calls) }
      const { server, email, password, apiKey } = await serveSandbox(where)
      const post = (path: string, headers: Record<string, string>, body: object) =>
        fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
      const json = { 'content-type': 'application/json' }
      expect((await post('/Login/Customer/Api/Verify', json, { Email: email, Password: password })).status).toBe(200)
      expect((await post('/Purchase/update', { ApiKey: apiKey }, { OrderID: '1', Status: 1 })).status).toBe(200)
      server.child.kill('SIGTERM')
      expect(await server.ended).toBe(0)
      const allowed = allowedCalls(linesOf('SystemCallFilter'))
      expect([...(await callsIn(calls))].filter((call) => !allowed.has(call))).toEqual([])
    },
    60_000,
  )

  it('starts what the page installs, as a user that may write to its own folder only', () => {
    expect(setTo('ExecStart')).toBe(`@${PROGRAM} teslim serve`)
    expect([setTo('User'), setTo('StateDirectory'), setTo('ProtectSystem')]).toEqual(['teslim', 'teslim', 'strict'])
    expect(settings.DATABASE_URL).toBe(`sqlite:/var/lib/${setTo('StateDirectory')}/teslim.db`)
    const shell = Array.from(page.matchAll(/^```bash\n([\s\S]*?)^```$/gm), ([, commands = '']) => commands).join('\n')
    expect(spawnSync('bash', ['-n'], { input: shell, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
    const installed = Array.from(shell.matchAll(/^install .*?(\S+) (\/\S+)$/gm), ([, from, to]) => [to, from])
    expect(Object.fromEntries(installed)).toMatchObject({
      [PROGRAM]: 'teslim-linux-x64',
      [setTo('EnvironmentFile') ?? '']: 'teslim.env.example',
      '/usr/local/sbin/teslim': 'teslim.sh',
      '/etc/systemd/system/teslim.service': 'teslim.service',
      '/etc/systemd/system/teslim-backup.service': 'teslim-backup.service',
    })
    expect(shell).toContain(`/dev/stdin ${settings.TESLIM_SECRET_FILE}\n`)
    expect(page).toContain(`./teslim-${version}.tgz`)
    expect(statSync(join(folder, 'teslim.sh')).mode & 0o111).toBe(0o111)
  })

  it('opens no debugger, with the package as with the executable', () => {
    for (const text of [unit, read('teslim-backup.service')]) {
      const [, NODE_OPTIONS] = /^Environment=NODE_OPTIONS=(--disable-sigusr1)$/m.exec(text) ?? []
      expect(spawnSync(process.execPath, ['-p', 'process.env.NODE_OPTIONS'], { env: { NODE_OPTIONS } })).toMatchObject({
        status: 0,
        stdout: Buffer.from(`${NODE_OPTIONS}\n`),
      })
    }
  })

  /** Runs what systemd runs after the start of the process `MAINPID`; `most` are the seconds that it may take. */
  function waitForStart(env: Record<string, string>, most = 30) {
    const [, command = ''] = /^-(.*)$/.exec(setTo('ExecStartPost') ?? '') ?? []
    // systemd takes $$ for a $, and the quotes as a shell does.
    const here = command
      .replaceAll('$$', '$')
      .replace(PROGRAM, programHere())
      .replace('timeout 30 ', `timeout ${most} `)
    const child = spawn('sh', ['-c', `exec ${here}`], { env: { PATH: process.env.PATH, ...env } })
    return once(child, 'exit')
  }

  it('has started when it takes requests, and not before', { timeout: 60_000 }, async () => {
    const cwd = tempFolder()
    await keyOfSupplier({ cwd })
    const PORT = String(await freePort())
    const child = startProcess(['serve'], { cwd, env: { NODE_ENV: 'production', PORT, TESLIM_OPS_PORT: '0' } })
    onTestFinished(() => void child.kill('SIGKILL'))
    expect(await waitForStart({ PORT, MAINPID: String(child.pid) })).toEqual([0, null])
    expect((await fetch(`http://127.0.0.1:${PORT}/readyz`)).status).toBe(200)
  })

  it('is waited for no longer than it runs, and goes on if it waits for a store', { timeout: 60_000 }, async () => {
    const { child, url, ended } = await serve({ cwd: tempFolder(), env: { NODE_ENV: 'production' } })
    const env = { PORT: new URL(url).port, MAINPID: String(child.pid) }
    expect(await waitForStart(env, 1)).toEqual([124, null])
    expect((await fetch(`${url}/livez`)).status).toBe(200)
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
    expect(await waitForStart(env)).toEqual([1, null])
  })

  it('has a command for root with its user and settings', async () => {
    const folder = tempFolder()
    const script = (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o755 })
    script('sudo', '#!/bin/sh\n[ "$1 $2" = "-u teslim" ] || exit 9\nshift 2\nexec env -i PATH="$PATH" "$@"\n')
    const database = `sqlite:${folder}/a#b $c; d.db`
    const lines = read('teslim.env.example').replace(settings.DATABASE_URL ?? '', database)
    writeFileSync(join(folder, 'secret'), 'bm90IGEgc2VjcmV0IGF0IGFsbA==\n')
    writeFileSync(join(folder, 'teslim.env'), lines.replace(settings.TESLIM_SECRET_FILE ?? '', join(folder, 'secret')))
    script(
      'teslim',
      read('teslim.sh')
        .replace(PROGRAM, programHere())
        .replace(setTo('EnvironmentFile') ?? '', join(folder, 'teslim.env')),
    )
    const env = { PATH: `${folder}:${process.env.PATH}`, TESLIM_SECRET: 'what the shell of root has' }
    const run = (...args: string[]) => spawnSync('teslim', args, { cwd: tempFolder(), env, encoding: 'utf8' })
    const added = run('customer', 'add', '--email', 'two words@b.co', '--json')
    expect([added.status, added.stderr]).toEqual([2, expect.stringContaining('two words@b.co')])
    expect(run('migrate')).toMatchObject({ status: 0 })
    expect(existsSync(join(folder, 'a#b $c; d.db'))).toBe(true)
  })

  it('names settings that exist, with values that are allowed, and needs the secret', () => {
    const secret = join(tempFolder(), 'secret')
    const problems = () => settingProblems({ ...settings, TESLIM_SECRET_FILE: secret })
    expect(problems()).toEqual([expect.stringMatching(/^TESLIM_SECRET_FILE: .*a file that can be read \(ENOENT\)$/)])
    writeFileSync(secret, 'bm90IGEgc2VjcmV0IGF0IGFsbA==\n')
    expect(problems()).toEqual([])
    expect(settings.NODE_ENV).toBe('production')
  })

  it('shows other settings that exist, with values that are allowed', () => {
    const shown = Array.from(read('teslim.env.example').matchAll(/^#([A-Z_]+='.*')$/gm), ([, line = '']) => line)
    expect(shown.length).toBeGreaterThan(5)
    // Not here: the files of a certificate.
    const others = shown.filter((line) => !line.startsWith('TESLIM_TLS_'))
    expect(settingProblems(parseEnv(others.join('\n')))).toEqual([])
  })

  it('quotes every setting, so that systemd and the shell read the same value', () => {
    const lines = read('teslim.env.example').split('\n')
    const unquoted = lines.filter((line) => !/^(?:# .*|#?[A-Z_]+='[^'\\]*')?$/.test(line))
    expect(unquoted).toEqual([])
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
