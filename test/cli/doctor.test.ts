import { chmodSync, chownSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, inject, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { checkListening, checkNode } from '#src/doctor/checks.ts'
import { checkSecretFile } from '#src/doctor/files.ts'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { runCommand } from '../support/processes/command.ts'
import { askDoctor } from '../support/processes/doctor.ts'
import { createStore } from '../support/store/create-store.ts'
import { tempFolder } from '../support/temp-folder.ts'

const SECRET = 'a secret of enough characters'
const NOT_FROM_HERE = 'skipped: not looked at: see to it where PostgreSQL runs'
const isRoot = process.geteuid?.() === 0
if (!isRoot) console.log('a .env file of another user is not tested: only root can make one')
let cwd = ''
beforeEach(() => {
  cwd = tempFolder()
})

const run = (args: string[], env = {}) => runCommand(args, { cwd, env })
const doctor = (env = {}) => askDoctor({ cwd, env })

describe('teslim doctor', () => {
  it('creates nothing on a fresh machine, and nothing fails', async () => {
    const { exit, found } = await doctor()
    expect(exit).toBe(0)
    expect(found('store')).toEqual(['warning: sqlite:./data/teslim.db is not there yet: the first start creates it'])
    expect(existsSync(join(cwd, 'data'))).toBe(false)
  })

  it('changes nothing in a store that no server uses, and leaves an empty log at most', async () => {
    await run(['migrate'])
    const [path, log] = [join(cwd, 'data/teslim.db'), join(cwd, 'data/teslim.db-wal')]
    const [before, hadLog] = [readFileSync(path), existsSync(log)]
    await doctor()
    expect([hadLog, readFileSync(path).equals(before), statSync(log).size]).toEqual([false, true, 0])
  })

  it('reports a sound store, one line for each check', async () => {
    await run(['customer', 'add', '--email', 'a@b.co', '--api', '--generate'])
    await run(['signing-key', 'rotate'], { TESLIM_SECRET: SECRET })
    await run(['backup', 'b.db'])
    const { exit, checks } = await doctor({ TESLIM_SECRET: SECRET })
    expect(exit).toBe(0)
    const folder = join(cwd, 'data')
    expect(checks.filter(({ name }) => name !== 'node')).toEqual(
      [
        ['program', expect.stringMatching(/^teslim \d+\.\d+\.\d+, run from a checkout$/)],
        ['settings', expect.stringMatching(/^all \d+ are valid/)],
        ['network', 'HOST 127.0.0.1: this machine only'],
        ['permissions', `${folder} is open to its owner only`],
        ['disk', expect.stringMatching(/MiB free for/)],
        ['store', 'sqlite:./data/teslim.db answers and is at the schema of this version'],
        ['integrity', 'the file is undamaged'],
        ['server', 'no server uses the file'],
        ['database', expect.stringMatching(/^SQLite 3/)],
        [
          'log',
          expect.stringMatching(/^the file that ends in -wal has \d+\.\d MiB, and may have [\d,]+ MiB on this disk$/),
        ],
        ['backup', expect.stringMatching(/^the last one was made within the last hour, at /)],
        ['signing keys', '1, encrypted under TESLIM_SECRET'],
        ['customers', '1 enabled'],
        ['API keys', '0 live; none has expired or expires within 14 days without being replaced'],
      ].map(([name, message]) => ({
        name,
        status: 'ok',
        message,
        code: expect.any(String),
        values: expect.any(Object),
      })),
    )
    const { status, stdout } = await run(['doctor'], { TESLIM_SECRET: SECRET })
    expect([status, stdout.split('\n')]).toEqual([
      0,
      expect.arrayContaining([
        expect.stringMatching(/^status +check +found$/),
        expect.stringMatching(/^ok +integrity +/),
      ]),
    ])
  })

  it.runIf(isRoot)('names a .env file that another user has written, and no command takes its settings', async () => {
    writeFileSync(join(cwd, '.env'), 'DATABASE_URL=sqlite:./theirs.db\n')
    chownSync(join(cwd, '.env'), 65_534, 65_534)
    const why = '.env: settings are not taken from a file of nobody: run teslim as that user, or make the file yours'
    const { exit, found } = await doctor()
    expect([exit, found('settings')]).toEqual([1, [`failed: ${why}`]])
    expect(await run(['migrate'])).toEqual({ status: 2, stdout: '', stderr: `teslim: ${why}\n` })
    expect(existsSync(join(cwd, 'theirs.db'))).toBe(false)
  })

  it('reports all wrong settings, and fails', async () => {
    const { exit, worst, found } = await doctor({ PORT: 'x', TESLIM_SECRET: 'short' })
    expect([exit, worst]).toEqual([1, 'failed'])
    expect(found('settings')).toEqual([
      'failed: PORT: "x" is not allowed, it must be a whole number from 0 to 65535',
      'failed: TESLIM_SECRET: its value is not allowed, it must be at least 16 characters',
    ])
  })

  it('says what a setting counts as, if that may surprise', async () => {
    await createStore(cwd)
    const { found } = await doctor({ NODE_ENV: 'staging', TESLIM_OPS_PORT: 'tcp://10.0.0.1:9464' })
    expect(found('settings')).toEqual([
      expect.stringMatching(/^ok: all \d+ are valid/),
      'ok: TESLIM_OPS_PORT: tcp://10.0.0.1:9464 is a service link of Kubernetes, not a setting: ignored',
      'ok: NODE_ENV: "staging" counts as production',
    ])
  })

  it('reports a missing secret, a wrong one, and keys that need a rewrap', async () => {
    await createStore(cwd)
    expect((await doctor()).found('signing keys')).toEqual(['ok: none yet: the first login makes one'])
    await run(['signing-key', 'rotate'])
    expect((await doctor()).found('secret')).toEqual([
      'warning: TESLIM_SECRET is not set, so signing keys are stored unencrypted: set it, restart, then run teslim signing-key rewrap',
    ])
    expect((await doctor({ TESLIM_SECRET: SECRET })).found('signing keys')).toEqual([
      'warning: 1 of 1 not encrypted under TESLIM_SECRET: run teslim signing-key rewrap',
    ])
    await run(['signing-key', 'rewrap'], { TESLIM_SECRET: SECRET })
    const wrong = await doctor({ TESLIM_SECRET: `${SECRET}!` })
    expect([wrong.exit, wrong.found('signing keys')]).toEqual([
      1,
      [expect.stringMatching(/^failed: signing key \S{43}: TESLIM_SECRET .* is not the secret/)],
    ])
    expect(JSON.stringify(wrong.checks)).not.toContain(SECRET)
  })

  it('reports files that others can read, and a readable .env with a secret in it', async () => {
    await run(['migrate'])
    const folder = join(cwd, 'data')
    chmodSync(folder, 0o750)
    expect((await doctor()).found('permissions')).toEqual([
      `warning: group or others may enter the data folder: chmod 700 ${folder}; if it has other things in it, move the store to a folder of its own`,
    ])
    chmodSync(join(folder, 'teslim.db'), 0o640)
    writeFileSync(join(cwd, '.env'), `TESLIM_SECRET="${SECRET}"\n`, { mode: 0o644 })
    const { exit, found, checks } = await doctor()
    expect([exit, found('permissions'), found('.env')]).toEqual([
      1,
      [expect.stringMatching(/^failed: .* chmod 600 \S+teslim\.db$/)],
      ['warning: .env holds TESLIM_SECRET, and group or others have rights to it: chmod 600 .env'],
    ])
    expect(JSON.stringify(checks)).not.toContain(SECRET)
    chmodSync(join(cwd, '.env'), 0o600)
    expect((await doctor()).found('.env')).toEqual([])
  })

  it('reports a store of a later version', async () => {
    await run(['migrate'])
    const raw = new DatabaseSync(join(cwd, 'data/teslim.db'))
    raw.exec("INSERT INTO schema_migration VALUES (9999, 'from-the-future', '', 0, 9999, '9.0.0')")
    raw.close()
    const newer = await doctor()
    expect([newer.exit, newer.found('store')]).toEqual([1, [expect.stringContaining('The store is at schema 9999')]])
  })

  it('reports a damaged file, and one that is no store', async () => {
    await run(['migrate'])
    const path = join(cwd, 'data/teslim.db')
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0xff, 4096 * 3, 4096 * 6))
    const damaged = await doctor()
    expect([damaged.exit, damaged.worst]).toEqual([1, 'failed'])
    writeFileSync(path, 'this is certainly not a database file, whatever its name says')
    const { exit, found } = await doctor()
    expect([exit, found('store')]).toEqual([1, [expect.stringMatching(/^failed: The store \S+ cannot be opened/)]])
    expect(statSync(path).size).toBe(61)
    const blocked = await doctor({ DATABASE_URL: `sqlite:${path}/teslim.db` })
    expect([blocked.exit, blocked.found('store')]).toEqual([1, [expect.stringMatching(/^failed: .*cannot be opened/)]])
    const nameless = await doctor({ DATABASE_URL: 'sqlite::memory:' })
    expect([nameless.exit, nameless.found('store')]).toEqual([
      1,
      [expect.stringMatching(/^failed: DATABASE_URL sqlite::memory: does not name a file/)],
    ])
  })

  it('checks PostgreSQL without changing it, and reports when it cannot be reached', async () => {
    const env = { DATABASE_URL: await newDatabase(inject('postgresUrl')) }
    const empty = await doctor(env)
    expect(empty.found('store')).toEqual([expect.stringContaining('is not there yet: the first start creates it')])
    expect(await runSql(env.DATABASE_URL, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'")).toEqual([])
    await run(['migrate'], env)
    await run(['signing-key', 'rotate'], env)
    const { exit, found } = await doctor(env)
    expect([exit, found('store'), found('signing keys'), found('integrity')]).toEqual([
      0,
      [expect.stringMatching(/^ok: postgres:\S+ answers/)],
      ['ok: 1, unencrypted'],
      [NOT_FROM_HERE],
    ])
    for (const name of ['disk', 'growth', 'backup']) expect(found(name)).toEqual([NOT_FROM_HERE])
    const away = await doctor({ DATABASE_URL: 'postgres://u:geheim@127.0.0.1:1/x' })
    expect([away.exit, away.found('store')]).toEqual([1, [expect.stringContaining('cannot be reached')]])
    expect(JSON.stringify(away.checks)).not.toContain('geheim')
  })
})

describe('teslim doctor judges', () => {
  it.each([
    ['26.10.0', 'warning'],
    ['26.12.9', 'warning'],
    ['26.13.0', 'ok'],
    ['27.0.0', 'ok'],
  ])('Node %s is %s', (version, status) => {
    expect(checkNode(version, 'production').status).toBe(status)
    expect(checkNode(version).status).toBe(status)
  })

  it('an old Node is enough outside production', () => {
    expect(checkNode('26.10.0', 'development')).toMatchObject({
      status: 'ok',
      message: '26.10.0 is enough for trying; in production use Node 26.13 or later, or the container',
    })
  })

  it.each([
    [{}, ['ok']],
    [{ HOST: '::1', NODE_ENV: 'production' }, ['ok']],
    [{ HOST: '0.0.0.0', NODE_ENV: 'production' }, ['warning']],
    [{ HOST: '0.0.0.0' }, ['warning', 'warning']],
    [{ TESLIM_OPS_HOST: '0.0.0.0' }, ['ok', 'warning']],
    [{ TESLIM_OPS_HOST: '0.0.0.0', TESLIM_OPS_PORT: '0' }, ['ok']],
    [{ TESLIM_OPERATOR_NETWORKS: '10.0.0.0/8' }, ['ok', 'warning']],
    [{ TESLIM_OPERATOR_NETWORKS: '10.0.0.0/8', HOST: '0.0.0.0', NODE_ENV: 'production' }, ['warning', 'warning']],
    [{ TESLIM_OPERATOR_NETWORKS: '10.0.0.0/8', TESLIM_TRUST_PROXY: 'loopback' }, ['ok', 'ok']],
    [{ TESLIM_OPERATOR_NETWORKS: '10.0.0.0/8', TESLIM_TLS_CERT: 'c', TESLIM_TLS_KEY: 'k' }, ['ok', 'ok']],
  ])('%j is %j', (settings, statuses) => {
    expect(checkListening(loadConfig(settings).config).map(({ status }) => status)).toEqual(statuses)
  })

  it('the modes of files with a secret, but not of those that containers mount', () => {
    const judge = (path: string, mode: number) => checkSecretFile('TESLIM_SECRET_FILE', path, mode & 0o077)
    expect(judge('/run/secrets/teslim-secret', 0o444)).toEqual({
      name: 'secret files',
      status: 'skipped',
      message: 'TESLIM_SECRET_FILE /run/secrets/teslim-secret: see on the host who may read it',
      code: 'SECRET_FILE_MOUNTED',
      values: { variable: 'TESLIM_SECRET_FILE', path: '/run/secrets/teslim-secret' },
    })
    expect(judge('/run/secrets/../teslim-secret', 0o444).status).toBe('warning')
    expect(judge('/etc/teslim/secret', 0o444).status).toBe('warning')
    expect(judge('/etc/teslim/secret', 0o640).status).toBe('ok')
  })
})
