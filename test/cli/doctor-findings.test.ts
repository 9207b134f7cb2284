import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { checkFacts } from '#src/doctor/database.ts'
import { checkGrowth } from '#src/doctor/growth.ts'
import { inspectStore, openStore } from '#src/store/open-store.ts'
import { lockForBackup } from '#src/store/sqlite/backup-record.ts'
import type { Store } from '#src/store/store.ts'
import { receivedAt as deliveryAt } from '../store/conformance/purging.ts'
import { makeCertificate, storeCertificate, type Wanted } from '../support/network/certificate.ts'
import { runSql } from '../support/postgres/postgres-server.ts'
import { newPostgresStore } from '../support/postgres/postgres-session.ts'
import { runCommand } from '../support/processes/command.ts'
import { commandStage } from '../support/processes/command-stage.ts'
import { askDoctor } from '../support/processes/doctor.ts'
import { apiKey, customer } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

const DAY = 86_400_000
let cwd = ''
beforeEach(() => {
  cwd = tempFolder()
})
const doctor = (env = {}) => askDoctor({ cwd, env })

const configOf = (databaseUrl = `sqlite:${join(cwd, 'data/teslim.db')}`) =>
  loadConfig({ DATABASE_URL: databaseUrl }).config

/** Puts rows into the store of this test's folder. */
const prepare = (work: (store: Store) => Promise<unknown>) => commandStage({}, cwd).withStore(work)

describe('teslim doctor finds', () => {
  it('a backup that is missing or old', async () => {
    await prepare(async () => undefined)
    const backup = async (env = {}) => (await doctor(env)).found('backup')
    const none = 'teslim backup has made none: see teslim backup --help'
    expect(await backup()).toEqual([`skipped: ${none}`])
    expect(await backup({ NODE_ENV: 'production' })).toEqual([`warning: ${none}`])
    const path = realpathSync(join(cwd, 'data/teslim.db'))
    const madeHoursAgo = (hours: number) =>
      lockForBackup(path).finish({ path: `${path}.copy`, at: Date.now() - hours * 3_600_000, scheduled: false }, [])
    madeHoursAgo(35)
    expect(await backup()).toEqual([expect.stringMatching(/^ok: the last one was made 35 hours ago, at \S+ \S+ UTC$/)])
    madeHoursAgo(36)
    expect(await backup()).toEqual([
      expect.stringMatching(/^warning: the last one was made 36 hours ago, .*: make one/),
    ])
    writeFileSync(`${path}-backup`, 'this is certainly not a database file, whatever its name says')
    const { exit, found } = await doctor()
    expect([exit, found('backup'), found('customers')]).toEqual([
      0,
      [expect.stringMatching(/^warning: its record, .* is unknown: .*teslim\.db cannot be opened/)],
      [expect.stringMatching(/^warning: none is enabled/)],
    ])
  })

  it('a certificate that has expired, is about to, is not valid yet, or has another key', async () => {
    const judge = async (wanted: Wanted) => {
      const { exit, found } = await doctor(storeCertificate(cwd, makeCertificate(wanted)))
      return [exit, ...found('certificate')]
    }
    const path = join(cwd, 'cert.pem')
    expect(await judge({})).toEqual([
      0,
      expect.stringMatching(/^ok: \S+cert\.pem, for localhost, 127\.0\.0\.1, expires on \d{4}-\d\d-\d\d$/),
    ])
    expect(await judge({ until: Date.now() + 13 * DAY })).toEqual([
      0,
      expect.stringMatching(/^warning: .* expires on \S+: replace it, then send the server SIGHUP$/),
    ])
    expect(await judge({ from: 0, until: Date.parse('2026-01-02T03:04:05Z') })).toEqual([
      1,
      `failed: ${path}: the certificate expired on 2026-01-02, so clients refuse it: replace it, then SIGHUP`,
    ])
    expect(await judge({ from: Date.now() + DAY })).toEqual([1, expect.stringMatching(/^failed: .* not valid before/)])
    const files = storeCertificate(cwd, { ...makeCertificate(), key: makeCertificate().key })
    expect((await doctor(files)).found('certificate')).toEqual([expect.stringMatching(/^failed: .* is not the key of/)])
  })

  it('files with a secret that other users may read, and none in an .env that only names such a file', async () => {
    const secret = join(cwd, 'secret')
    writeFileSync(secret, 'a secret of enough characters', { mode: 0o640 })
    writeFileSync(join(cwd, '.env'), `TESLIM_SECRET_FILE=${secret}\n`, { mode: 0o644 })
    const tls = storeCertificate(cwd, makeCertificate())
    chmodSync(tls.TESLIM_TLS_KEY, 0o644)
    const { exit, found } = await doctor(tls)
    const openKey = `warning: TESLIM_TLS_KEY: other users may read or change ${tls.TESLIM_TLS_KEY}: chmod 600 ${tls.TESLIM_TLS_KEY}`
    expect([exit, found('secret files'), found('.env')]).toEqual([
      0,
      [`ok: TESLIM_SECRET_FILE ${secret} is closed to other users`, openKey],
      [],
    ])
    for (const mode of [0o604, 0o620]) {
      chmodSync(secret, mode)
      expect((await doctor()).found('secret files')).toEqual([expect.stringMatching(/^warning: TESLIM_SECRET_FILE/)])
    }
  })

  it('keys that expired or expire soon, but none that has been replaced', async () => {
    const now = Date.now()
    const locked = customer({ email: 'locked@b.co', name: '' })
    const [one, quiet] = [customer({ name: 'Kitap A.Ş.' }), customer()]
    const shown = `Kitap A.Ş. <${one.email}>`
    await prepare(async ({ customers, apiKeys }) => {
      for (const each of [one, locked, quiet]) await customers.insert(each)
      const add = (id: string, customerId: string, more = {}) =>
        apiKeys.insert(apiKey(customerId, { id, label: '', createdAt: now - 30 * DAY, ...more }))
      const soon = { expiresAt: now + 3 * DAY }
      const past = { expiresAt: now - 3 * DAY }
      const rotate = async (id: string, successor: string): Promise<void> => {
        await add(id, one.id)
        const made = apiKey(one.id, { id: successor, label: '', createdAt: now })
        await apiKeys.rotate(id, made, { now, endsAt: now + 3 * DAY })
      }
      await rotate('rotated', 'successor')
      await rotate('successor-revoked', 'revoked')
      await apiKeys.revoke('revoked', now)
      await add('issued-again', one.id, { ...past, label: 'erp' })
      await add('later', one.id, { label: 'erp', createdAt: now })
      await add('forgotten', one.id, { ...past, label: 'shop' })
      await add('ending', one.id, soon)
      await add('gone', locked.id, past)
      await add('given-up', quiet.id, { revokedAt: now })
    })
    const on = (days: number): string => new Date(now + days * DAY).toISOString().slice(0, 10)
    const { exit, found } = await doctor()
    expect([exit, ...found('API keys')]).toEqual([
      0,
      'warning: all keys of locked@b.co have expired: issue new ones, or disable the customer',
      `warning: 1 expired and not replaced, issue others or revoke them: forgotten of ${shown} on ${on(-3)}`,
      `warning: 2 expire within 14 days, issue others: ending of ${shown} on ${on(3)}; successor-revoked of ${shown} on ${on(3)}`,
    ])
    for (const { email } of [one, locked, quiet]) await runCommand(['customer', 'disable', String(email)], { cwd })
    expect((await doctor()).found('API keys')).toEqual([])
  })

  it('a sandbox customer in production', async () => {
    await prepare(({ customers }) => customers.insert(customer({ email: 'sandbox@example.com' })))
    expect((await doctor()).found('sandbox')).toEqual([])
    expect((await doctor({ NODE_ENV: 'production' })).found('sandbox')).toEqual([
      expect.stringMatching(/^warning: .*teslim customer disable sandbox@example\.com$/),
    ])
    await runCommand(['customer', 'disable', 'sandbox@example.com'], { cwd })
    expect((await doctor({ NODE_ENV: 'production' })).found('sandbox')).toEqual([])
  })

  it('how long the disk lasts at the growth of the last days, and a clock that was set back', async () => {
    const now = Date.now()
    const one = customer()
    await prepare(async ({ customers, deliveries }) => {
      await customers.insert(one)
      for (const receivedAt of [now - 20 * DAY, now - 6 * DAY, now - DAY])
        await deliveries.deliver(deliveryAt(receivedAt, one.id))
    })
    const sound = await doctor()
    expect([sound.found('growth'), sound.found('clock')]).toEqual([
      [expect.stringMatching(/^ok: 0\.0 MiB a day in the last 7 days: the disk has room for more than ten years$/)],
      [],
    ])
    const { store } = await inspectStore(configOf())
    expect(await checkGrowth(store, 100, now)).toMatchObject([
      { status: 'failed', message: expect.stringMatching(/ MiB a day .* the disk is full in 0 days, make room$/) },
    ])
    await store.close()
    await prepare(({ deliveries }) => deliveries.deliver(deliveryAt(now + 30 * DAY, one.id)))
    expect((await doctor()).found('clock')).toEqual([expect.stringMatching(/^warning: 1 delivery was received later/)])
  })

  it('the same growth after a purge', async () => {
    const now = Date.now()
    const one = customer()
    await prepare(async ({ customers, deliveries }) => {
      await customers.insert(one)
      const add = (receivedAt: number, more = {}) => deliveries.deliver(deliveryAt(receivedAt, one.id, more))
      // The purge keeps the first and the last of them: the newest of each order.
      await add(now - 40 * DAY)
      for (let minute = 0; minute < 50; minute++) await add(now - 30 * DAY + minute * 60_000, { orderId: 'same' })
      for (let day = 7; day > 0; day--) await add(now - day * DAY + 60_000, { payload: Buffer.alloc(2 ** 20, 'x') })
    })
    const growth = async () => (await doctor()).found('growth')
    const expected = [expect.stringMatching(/^ok: 1\.0 MiB a day in the last 7 days/)]
    expect(await growth()).toEqual(expected)
    const { stdout } = await runCommand(['purge', '--older', '20d', '--json'], { cwd })
    expect(JSON.parse(stdout)).toMatchObject({ deliveries: 49 })
    expect(await growth()).toEqual(expected)
  })

  it('a server that has lost its lock on the file, and others that hold the write lock', async () => {
    const { store } = await openStore(configOf(), Date.now(), { toServe: true })
    const path = join(cwd, 'data/teslim.db')
    const isLinux = process.platform === 'linux'
    if (!isLinux) console.log('locks: skipped, they are read from /proc')
    else expect((await doctor()).found('locks')).toEqual(['ok: the server holds its lock on the file'])
    const program = `new (require('node:sqlite').DatabaseSync)(${JSON.stringify(path)}).exec('BEGIN IMMEDIATE'); console.log('locked'); setInterval(() => {}, 1000)`
    const other = spawn(process.execPath, ['-e', program])
    onTestFinished(() => void other.kill('SIGKILL'))
    await once(other.stdout, 'data')
    if (isLinux)
      expect((await doctor()).found('locks')).toEqual([
        expect.stringMatching(new RegExp(`^warning: node.* \\(process ${other.pid}\\) may hold up deliveries`)),
      ])
    other.kill('SIGKILL')
    await once(other, 'close')
    // POSIX drops the locks of this process, which is the server here.
    readFileSync(path)
    if (isLinux) expect((await doctor()).found('locks')).toEqual([expect.stringMatching(/^failed: .*restart it/)])
    await store.close()
  })
})

describe('on PostgreSQL, teslim doctor finds', () => {
  it('version, clock, connections and partitions', async () => {
    const DATABASE_URL = await newPostgresStore()
    await runCommand(['migrate'], { cwd, env: { DATABASE_URL } })
    const { exit, found } = await doctor({ DATABASE_URL })
    expect([exit, found('database'), found('clock'), found('connections'), found('partitions')]).toEqual([
      0,
      [expect.stringMatching(/^ok: PostgreSQL \d+/)],
      ['ok: this machine and the database agree within 2 s'],
      [expect.stringMatching(/^ok: \d+ of \d+ connections are in use$/)],
      [],
    ])
    const crowded = await doctor({ DATABASE_URL, TESLIM_DATABASE_POOL: '1000' })
    expect(crowded.found('connections')).toEqual([
      expect.stringMatching(/^warning: .* too few are left for one more replica \(TESLIM_DATABASE_POOL 1000\)/),
    ])
    const script = readFileSync(new URL('../../deploy/postgres/partition-by-month.sql', import.meta.url), 'utf8')
    for (const statement of script.split(/;\n(?=\n|ALTER)/)) await runSql(DATABASE_URL, statement)
    expect((await doctor({ DATABASE_URL })).found('partitions')).toEqual([
      expect.stringMatching(/^ok: deliveries have partitions until \d{4}-\d\d-01$/),
    ])
    const months = await runSql(
      DATABASE_URL,
      `SELECT relname FROM pg_class WHERE relname ~ '^delivery_2...' AND relkind = 'r'`,
    )
    await runSql(DATABASE_URL, `DROP TABLE ${months.map(({ relname }) => relname).join(', ')}`)
    expect((await doctor({ DATABASE_URL })).found('partitions')).toEqual([
      expect.stringMatching(/^warning: .* until \S+; after that deliveries are refused: make more/),
    ])
  })

  it('connections of other roles, which a role without privileges cannot see one by one', async () => {
    const DATABASE_URL = await newPostgresStore()
    await runCommand(['migrate'], { cwd, env: { DATABASE_URL } })
    const ours = new URL(DATABASE_URL)
    ours.username = `${ours.pathname.slice(1)}_plain`
    await runSql(
      DATABASE_URL,
      `CREATE ROLE ${ours.username} LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${ours.username};
       GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${ours.username}`,
    )
    const others = Array.from({ length: 5 }, () => new pg.Client({ connectionString: DATABASE_URL }))
    await Promise.all(others.map((client) => client.connect()))
    onTestFinished(() => Promise.all(others.map((client) => client.end())).then(() => undefined))
    const [message = ''] = (await doctor({ DATABASE_URL: ours.href })).found('connections')
    expect(Number(/^ok: (\d+) of \d+ connections/.exec(message)?.[1])).toBeGreaterThan(others.length)
  })

  it('clocks that differ, a version that is too old, and partitions about to end', () => {
    const now = Date.parse('2026-11-21T12:00:00Z')
    const facts = {
      database: 'PostgreSQL 13.1',
      supported: false,
      unfit: null,
      now: now - 5000,
      connections: { used: 97, most: 97 },
      openToAll: false,
      standbys: { connected: 2, synchronous: false },
      partitionsEnd: now + 3 * DAY,
      locks: null,
    }
    expect(
      checkFacts(facts, configOf('postgres://h/d'), now).map(({ status, message }) => `${status}: ${message}`),
    ).toEqual([
      'failed: PostgreSQL 13.1 is too old: PostgreSQL 14 or later is needed',
      expect.stringMatching(/^warning: this machine is 5 s ahead of the database: synchronise both/),
      expect.stringMatching(/^warning: 97 of 97 connections are in use: too few/),
      expect.stringMatching(/^warning: 2 standbys are connected, but commits wait for none/),
      'failed: deliveries have partitions until 2026-11-24; after that deliveries are refused: make more with teslim_make_month',
    ])
  })
})
