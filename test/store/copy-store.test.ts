import { spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { copyStore } from '#src/store/copy/copy-store.ts'
import { findTables } from '#src/store/copy/copy-tables.ts'
import { openStore } from '#src/store/open-store.ts'
import { openDatabase } from '#src/store/postgres/database.ts'
import { openDatabase as openFile } from '#src/store/sqlite/database.ts'
import type { Store } from '#src/store/store.ts'
import { fetch } from '../support/app/checked-fetch.ts'
import { pgbouncer, startPgbouncer } from '../support/postgres/pgbouncer.ts'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { runCommand } from '../support/processes/command.ts'
import { serve } from '../support/processes/process.ts'
import { apiKey, customer, delivery, key, webhook } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { attempt, confirmation, NOW, save, waiting } from '../support/webhooks/webhook-rows.ts'

const DELIVERIES = 2500

/** A store with something in every table. */
async function makeSource(deliveries = DELIVERIES) {
  const cwd = tempFolder()
  const path = join(cwd, 'teslim.db')
  const { config } = loadConfig({ DATABASE_URL: `sqlite:${path}` })
  const { store } = await openStore(config, 0)
  const one = customer()
  await store.customers.insert(one)
  await store.customers.insert(customer({ authority: ['ü*', '*'], enabled: false, scope: 'operator:read' }))
  const issued = apiKey(one.id, { expiresAt: 9, networks: ['10.0.0.0/8', '::1'], rateLimit: 600 })
  await store.apiKeys.insert(issued)
  await store.apiKeys.recordUses([{ keyId: issued.id, usedAt: 5, address: '::1' }], 5)
  await store.apiKeys.rotate(issued.id, apiKey(one.id), { now: 5, endsAt: 7 })
  await store.signingKeys.insertFirst(key())
  const made = Array.from({ length: deliveries }, (_, number) =>
    delivery(one.id, {
      orderId: number % 3 === 0 ? null : `ö"\\${number % 700}`,
      payload: Buffer.from(`{"Status":1,"n":${number % 5},"text":"\u{1f600}\\u0000"}`),
      idempotency: number % 4 === 0 ? { key: `k"${number}`, notBefore: 0 } : null,
      origin:
        number % 5 === 0 ? null : { keyId: randomUUID(), address: '::1', requestId: number % 2 ? randomUUID() : 'r' },
    }),
  )
  await Promise.all(made.map((each) => store.deliveries.deliver(each)))
  // The copy goes on counting after these.
  await store.rollUps.count(1000)
  const refused = { hour: 7, customerId: one.id, action: 'login.refused', errorCode: 'A', count: 3 }
  await store.audit.append([], [refused])
  await pushSome(store)
  await store.close()
  const raw = new DatabaseSync(path)
  raw.exec(`
    INSERT INTO service_secret VALUES ('cursor-key', x'00ff');
    INSERT INTO login_failure VALUES (x'00ff', 3, 4, 5);
    INSERT INTO purge_held VALUES ('w-1', 2, 3);
    INSERT INTO audit_event VALUES (7, 1, 'cli', 'key.issue', NULL, '::1', 'r', '{}', '01a1-7', 'PO-1', 300, 'key-1');
    INSERT INTO refused_delivery VALUES (3, '01a1-7', 1, 'c', 'key-1', 'PO-1', 300, 'X', '"No."', 'r', '::1', x'00ff');
    UPDATE refused_tally SET bytes = 514, removed = 5, not_kept = 6;`)
  raw.close()
  return { config, path, cwd, one, made }
}

/** Two endpoints, one of them paused, with something in every table of theirs. */
async function pushSome({ webhooks }: Store) {
  const one = webhook({ statuses: [0, 3], ca: 'PEM', giveUpMilliseconds: 5, position: 3 })
  await webhooks.add(one)
  await webhooks.change(one.id, { secret: 'new', formerSecret: { sealed: 'old', until: 9 } })
  await webhooks.hold('somebody', 600_000, 1)
  const progress = {
    position: 7,
    confirmed: [confirmation(9), confirmation(5000)],
    kept: [waiting(4), waiting(5, { nextAt: null, setAsideAt: 1 })],
    attempts: [attempt({ position: 4 }), attempt({ response: 'ü' })],
    minutes: [{ minute: NOW, succeeded: 3, failed: 2, longestMilliseconds: 12 }],
    lastSuccessAt: 4,
    silentUntil: 6,
  }
  await webhooks.save('somebody', [save(one.id, progress)], NOW)
  await webhooks.replay(one.id, [{ position: 3, lane: -3 }], NOW)
  await webhooks.setReplay(one.id, { from: 1, until: 6, statuses: [3], beganAt: 9 })
  const paused = webhook()
  await webhooks.add(paused)
  await webhooks.change(paused.id, { paused: { reason: 'operator', at: 8 } })
}

const source = await makeSource()
const small = await makeSource(20)

/** A copy of the file of a source, for a test that changes it. */
function ownSource(of = small) {
  const cwd = tempFolder()
  const path = join(cwd, 'teslim.db')
  copyFileSync(of.path, path)
  return { ...of, cwd, path, config: loadConfig({ DATABASE_URL: `sqlite:${path}` }).config }
}

const noProgress = (_table: string, _done: number, _all: number): void => undefined
/** Leaves the source in use, so that it can be copied again elsewhere. */
const copy = async (from: (typeof source)['config'], to: string, onProgress = noProgress) =>
  (await copyStore({ from, to, now: 0, whileServing: true, onProgress })).tables
const copyTo = (to: string, onProgress = noProgress) => copy(source.config, to, onProgress)
const copySmallTo = (to: string, onProgress = noProgress) => copy(small.config, to, onProgress)
const digestOfFile = () => createHash('sha256').update(readFileSync(source.path)).digest('hex')

/** The number of an idempotency key is for SQLite's own use: it tells which one is the oldest. */
const NOT_COPIED: Readonly<Record<string, readonly string[]>> = {
  idempotency: ['number'],
}

/** Computed from the deliveries, of one database alone, or sessions of its servers. */
const TABLES_NOT_COPIED = [
  'block_customers',
  'console_session',
  'delivery_block',
  'moved',
  'schema_migration',
  'span_customers',
]

it('covers every table of the store and every column', async () => {
  const url = await newDatabase(inject('postgresUrl'))
  await (await openStore(loadConfig({ DATABASE_URL: url }).config, 0)).store.close()
  const target = await openDatabase({ url, connections: 2, timeoutSeconds: 60 })
  const database = new DatabaseSync(source.path)
  const file = openFile(source.path)
  const copied = await findTables(file, target.query)
  file.close()
  await target.close()
  const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all()
  expect([...copied.map(({ name }) => name), ...TABLES_NOT_COPIED].sort()).toEqual(
    tables.map(({ name }) => name).sort(),
  )
  for (const { name, columns } of copied) {
    const there = database.prepare('SELECT name FROM pragma_table_info(?)').all(name)
    const wanted = there.map(({ name }) => name).filter((column) => !NOT_COPIED[name]?.includes(String(column)))
    expect(Object.keys(columns)).toEqual(wanted)
  }
  database.close()
})

it('is not continued once deliveries were removed from the source', async () => {
  const { config, path } = ownSource()
  const to = await newDatabase(inject('postgresUrl'))
  const raw = new DatabaseSync(path)
  onTestFinished(() => raw.close())
  raw.exec('UPDATE purge SET generation = 2, position = 5; DELETE FROM delivery WHERE position = 5')
  await copy(config, to)
  await copy(config, to)
  raw.exec('UPDATE purge SET generation = 3; DELETE FROM delivery WHERE position = 4')
  await expect(copy(config, to)).rejects.toThrow('deliveries were removed or erased here')
  raw.exec('UPDATE purge SET generation = 2, erasures = 1')
  await expect(copy(config, to)).rejects.toThrow('deliveries were removed or erased here')
})

it('copies everything, compares it, and leaves the source unchanged; the copy can be used', async () => {
  const to = await newDatabase(inject('postgresUrl'))
  const before = digestOfFile()
  const copied = await copyTo(to)
  expect(copied.find(({ name }) => name === 'delivery')?.rows).toBe(DELIVERIES)
  expect(copied.filter(({ rows }) => rows === 0)).toEqual([])
  expect(digestOfFile()).toBe(before)
  const statistics = 'SELECT DISTINCT tablename::text AS name FROM pg_stats WHERE schemaname = current_schema'
  const analyzed = (await runSql(to, statistics)).map(({ name }) => name)
  expect(copied.filter(({ name }) => !analyzed.includes(name))).toEqual([])

  const [{ store: old }, { store: copy }] = [
    await openStore(source.config, 0),
    await openStore(loadConfig({ DATABASE_URL: to }).config, 0),
  ]
  const range = { customerId: source.one.id, from: 0, to: 1_000_000, hoursEach: 24 }
  const counts = await old.rollUps.read(range, 1_000_000)
  expect(counts.deliveries.reduce((sum, { byStatus: [, updated = 0] }) => sum + updated, 0)).toBe(DELIVERIES)
  expect(await copy.rollUps.read(range, 1_000_000)).toEqual(counts)
  for (const { receiptId, orderId } of source.made.slice(0, 50)) {
    const [one, other] = [await old.deliveries.findByReceipt(receiptId), await copy.deliveries.findByReceipt(receiptId)]
    expect({ ...other, payload: String(other?.payload) }).toEqual({
      ...one,
      payload: String(Buffer.from(one?.payload ?? [])),
    })
    if (orderId !== null) {
      expect(await copy.deliveries.orderState(source.one.id, orderId)).toEqual(
        await old.deliveries.orderState(source.one.id, orderId),
      )
    }
  }
  const [first] = source.made
  if (first === undefined) throw new Error('nothing was made')
  const idempotency = first.idempotency
  // The old idempotency key is known, and a new delivery comes after all copied ones.
  expect(await copy.deliveries.deliver({ ...first, receiptId: delivery('x').receiptId, idempotency })).toMatchObject({
    receiptId: first.receiptId,
    duplicate: true,
  })
  const fresh = delivery(source.one.id)
  await copy.deliveries.deliver(fresh)
  expect((await copy.deliveries.findByReceipt(fresh.receiptId))?.position).toBeGreaterThan(DELIVERIES)
  await copy.customers.insert(customer())
  await Promise.all([old.close(), copy.close()])
  await expect(copyTo(to)).rejects.toThrow('deliveries were stored in it since the copy of 1970-01-01T00:00:00.000Z')
})

it('pauses the endpoints of the copy, which nobody holds, and goes on copying until one is changed there', async () => {
  const to = await newDatabase(inject('postgresUrl'))
  const options = { from: small.config, to, whileServing: true, onProgress: noProgress }
  for (const now of [5, 6]) expect(await copyStore({ ...options, now })).toMatchObject({ paused: 1 })
  const stores = [
    await openStore(small.config, 0),
    await openStore(loadConfig({ DATABASE_URL: to }).config, 0),
  ] as const
  const [old, copied] = [stores[0].store.webhooks, stores[1].store.webhooks]
  const all = await old.list()
  expect(await copied.list()).toEqual(
    all.map((each) =>
      each.paused ? each : { ...each, paused: { reason: 'restored', at: 6 }, version: each.version + 1 },
    ),
  )
  const { id = '' } = all.find(({ paused }) => paused === null) ?? {}
  const more = async (webhooks: Store['webhooks']) => [
    (await webhooks.load(id))?.confirmed,
    await webhooks.failing(id, 9),
    await webhooks.due(id, 2 * NOW, 9),
    await webhooks.fates(id, [3, 4, 5, 9, 5000]),
    await webhooks.attempts(id, 9),
    await webhooks.minutes(id, 0),
  ]
  expect(await more(copied)).toEqual(await more(old))
  expect(await copied.hold('somebody', 1000, 9)).toEqual([])
  await copied.change(id, { paused: null })
  expect(await copied.hold('another', 600_000, 9)).toMatchObject([{ id, isNew: true }])
  await copied.recordAttempt(id, attempt())
  expect(await copied.attempts(id, 9)).toHaveLength(3)
  for (const { store } of stores) await store.close()
  await expect(copySmallTo(to)).rejects.toThrow('its table webhook was changed since')
})

it('continues where an interrupted run ended', async () => {
  const to = await newDatabase(inject('postgresUrl'))
  const cutOff = copyTo(to, (name, done) => {
    if (name === 'delivery' && done >= 1000) throw new Error('cut off')
  })
  await expect(cutOff).rejects.toThrow('cut off')
  expect(await runSql(to, 'SELECT count(*)::int AS n FROM delivery')).toEqual([{ n: 1000 }])
  const steps: number[] = []
  const copied = await copyTo(to, (name, done) => {
    if (name === 'delivery') steps.push(done)
  })
  expect(steps).toEqual([2000, 2500])
  expect(copied.find(({ name }) => name === 'delivery')?.rows).toBe(DELIVERIES)
})

it('fails when the two differ, and refuses a database that holds something else', async () => {
  const to = await newDatabase(inject('postgresUrl'))
  const cutOff = copyTo(to, (name, done) => {
    if (name === 'delivery' && done >= 1000) throw new Error('cut off')
  })
  await expect(cutOff).rejects.toThrow('cut off')
  await runSql(to, `UPDATE delivery SET payload = '\\x00' WHERE position = (SELECT max(position) FROM delivery)`)
  await expect(copyTo(to)).rejects.toThrow('table delivery differs')

  const { store } = await openStore(loadConfig({ DATABASE_URL: `sqlite:${join(source.cwd, 'other.db')}` }).config, 0)
  await store.customers.insert(customer())
  await store.close()
  const other = loadConfig({ DATABASE_URL: `sqlite:${join(source.cwd, 'other.db')}` }).config
  await expect(copy(other, to)).rejects.toThrow('a copy of another store')
})

describe('a second run after the copy was finished', () => {
  const rowsOf = (tables: Awaited<ReturnType<typeof copy>>, table: string) =>
    tables.find(({ name }) => name === table)?.rows

  it('brings over what came since: deliveries, idempotency keys, changed customers', async () => {
    const { config, one, made } = ownSource(source)
    const to = await newDatabase(inject('postgresUrl'))
    await copy(config, to)
    const { store } = await openStore(config, 0)
    const fresh = delivery(one.id, { idempotency: { key: 'fresh', notBefore: 0 } })
    await store.deliveries.deliver(fresh)
    await store.customers.disable(one.id, { reason: 'asked', tokenGeneration: 'ended' })
    const added = customer()
    await store.customers.insert(added)
    await store.close()

    const steps: number[] = []
    const copied = await copy(config, to, (name, done) => {
      if (name === 'delivery') steps.push(done)
    })
    expect(steps).toEqual([2501])
    expect([rowsOf(copied, 'delivery'), rowsOf(copied, 'customer')]).toEqual([2501, 3])
    expect(rowsOf(await copy(config, to), 'delivery')).toBe(2501)
    const { store: target } = await openStore(loadConfig({ DATABASE_URL: to }).config, 0)
    expect(await target.customers.findById(one.id)).toMatchObject({ enabled: false, tokenGeneration: 'ended' })
    expect(await target.customers.findById(added.id)).toMatchObject({ email: added.email })
    const again = { ...fresh, receiptId: delivery('x').receiptId }
    expect(await target.deliveries.deliver(again)).toMatchObject({ receiptId: fresh.receiptId, duplicate: true })
    expect((await target.deliveries.findByReceipt(made[0]?.receiptId ?? ''))?.position).toBe(1)
    await target.close()
  })

  it.each([
    ['UPDATE customer SET enabled = true', 'its table customer was changed since the copy of 1970-01-01'],
    ["INSERT INTO login_failure VALUES ('\\x01', 1, 2, 3)", 'its table login_failure was changed since'],
    [
      "DELETE FROM delivery WHERE position > 3; SELECT setval('last_position', 11)",
      'deliveries were stored in it since',
    ],
  ])('refuses, having changed nothing, after %s on the target', async (sql, reason) => {
    const { config } = small
    const to = await newDatabase(inject('postgresUrl'))
    await copy(config, to)
    await runSql(to, sql)
    const state = () =>
      runSql(
        to,
        'SELECT (SELECT count(*) FROM login_failure), (SELECT count(*) FROM customer WHERE enabled), finished FROM store_copy',
      )
    const before = await state()
    await expect(copy(config, to)).rejects.toThrow(`The database cannot be copied into: ${reason}`)
    expect(await state()).toEqual(before)
  })

  it('leaves the target as it was when interrupted, and refuses it once a customer was added there', async () => {
    const { config, one } = ownSource()
    const to = await newDatabase(inject('postgresUrl'))
    await copy(config, to)
    const state = () =>
      runSql(to, 'SELECT (SELECT count(*) FROM customer), last_value, finished FROM store_copy, last_position')
    const before = await state()
    const { store } = await openStore(config, 0)
    await store.deliveries.deliver(delivery(one.id))
    await store.close()
    const cutOff = copy(config, to, (table) => {
      if (table === 'delivery (comparing)') throw new Error('cut off')
    })
    await expect(cutOff).rejects.toThrow('cut off')
    expect(await state()).toEqual(before)

    const { store: target } = await openStore(loadConfig({ DATABASE_URL: to }).config, 0)
    const added = customer()
    await target.customers.insert(added)
    await target.close()
    await expect(copy(config, to)).rejects.toThrow('its table customer was changed since the copy of 1970-01-01')
    expect(await runSql(to, 'SELECT FROM customer WHERE id = $1', [added.id])).toHaveLength(1)
  })

  it('refuses a store that was restored to a time before the copy', async () => {
    const { config, path, one } = ownSource()
    const backup = `${path}-backup`
    copyFileSync(path, backup)
    const { store } = await openStore(config, 0)
    const lost = delivery(one.id)
    await store.deliveries.deliver(lost)
    await store.close()
    const to = await newDatabase(inject('postgresUrl'))
    await copy(config, to)
    copyFileSync(backup, path)
    await expect(copy(config, to)).rejects.toThrow(`its last delivery, ${lost.receiptId}, is not in this store`)
  })
})

describe('changes while a copy runs', () => {
  /** Runs a command to its end before the copy goes on. */
  const during = (table: string, args: string[], databaseUrl: string) => {
    const outcomes: { status: number | null; stderr: string }[] = []
    const onProgress = (name: string): void => {
      if (name !== table || outcomes.length > 0) return
      const env = { PATH: process.env.PATH, DATABASE_URL: databaseUrl, NODE_ENV: 'production', PORT: '0' }
      const { status, stderr } = spawnSync(process.execPath, ['bin/teslim.js', ...args], { env, encoding: 'utf8' })
      outcomes.push({ status, stderr })
    }
    return { outcomes, onProgress }
  }
  const ADD = ['customer', 'add', '--email', 'late@b.co', '--generate']

  it('in the target refuse it, from its first run on, and remain', async () => {
    const to = await newDatabase(inject('postgresUrl'))
    const { outcomes, onProgress } = during('delivery', ADD, to)
    await expect(copySmallTo(to, onProgress)).rejects.toThrow('its table customer was changed since the copy of')
    expect(outcomes).toMatchObject([{ status: 0 }])
    await expect(copySmallTo(to)).rejects.toThrow('its table customer was changed since the copy of')
    expect(await runSql(to, 'SELECT email FROM customer')).toEqual([{ email: 'late@b.co' }])
  })

  it('in the target wait for its last part, and refuse the next copy', async () => {
    const to = await newDatabase(inject('postgresUrl'))
    let change: Promise<unknown> | undefined
    await copySmallTo(to, (table) => {
      if (table === 'customer') change = runSql(to, `UPDATE customer SET email = 'other@b.co' WHERE number = 1`)
    })
    await change
    await expect(copySmallTo(to)).rejects.toThrow('its table customer was changed since the copy of')
  })

  it('in the source are reported', async () => {
    const { config } = ownSource()
    const { outcomes, onProgress } = during('customer', ADD, config.databaseUrl)
    const to = await newDatabase(inject('postgresUrl'))
    const later = during('customer', ADD.with(3, 'later@b.co'), config.databaseUrl)
    const run = (whileServing: boolean, progress = noProgress) =>
      copyStore({ from: config, to, now: 5, whileServing, onProgress: progress })
    expect(await run(false, onProgress)).toMatchObject({ changed: true, moved: undefined })
    expect(await run(true, later.onProgress)).toMatchObject({ changed: true, moved: undefined })
    expect([...outcomes, ...later.outcomes]).toMatchObject([{ status: 0 }, { status: 0 }])
    expect(await run(true)).toMatchObject({ changed: false, moved: undefined })
    const moved = { to: to.replace(/^.*@/, ''), at: 5 }
    expect(await run(false)).toMatchObject({ changed: false, moved })
  })

  it('cannot come from a server, which does not start on the source', async () => {
    const { config } = ownSource()
    const { outcomes, onProgress } = during('customer', ['serve'], config.databaseUrl)
    await copyStore({ from: config, to: await newDatabase(inject('postgresUrl')), now: 0, onProgress })
    expect(outcomes).toEqual([
      { status: 1, stderr: expect.stringContaining(`is in use by teslim copy, process ${process.pid} on `) },
    ])
  })
})

describe('a target that is in use', () => {
  it('is refused while a server has sessions there, even if that has changed nothing', async () => {
    const to = await newDatabase(inject('postgresUrl'))
    await copySmallTo(to)
    const { store } = await openStore(loadConfig({ DATABASE_URL: to }).config, 0, { toServe: true })
    await expect(copySmallTo(to)).rejects.toMatchObject({
      code: 'STORE_IN_USE',
      message: expect.stringMatching(/has other sessions of teslim \(pid \d+.*\)\. Stop every server on it first\./),
    })
    await store.close()
    await copySmallTo(to)
  })

  if (pgbouncer === undefined) it.skip('(no pgbouncer is installed here, so nothing is copied through one)')
  else
    it('cannot be told behind PgBouncer, where a copy and a further one succeed', async () => {
      const pooler = await startPgbouncer(await newDatabase(inject('postgresUrl')))
      await copyTo(pooler)
      expect((await copyTo(pooler)).find(({ name }) => name === 'delivery')?.rows).toBe(DELIVERIES)
    })
})

describe('teslim copy', () => {
  it('takes the URL from the command line or stdin, and prints every table', async () => {
    const to = await newDatabase(inject('postgresUrl'))
    const { config, cwd } = ownSource(source)
    const env = { DATABASE_URL: config.databaseUrl }
    const run = (args: string[], stdin = '') => runCommand(['copy', ...args], { cwd, env, stdin })
    const misuse = (message: string) => ({ status: 2, stdout: '', stderr: expect.stringContaining(message) })
    expect(await run([])).toMatchObject(misuse('name the database with --to or --to-stdin'))
    expect(await run(['--to', to, '--to-stdin'])).toMatchObject(misuse('name the database with --to or --to-stdin'))
    expect(await run(['--to', 'mysql://x'])).toMatchObject(misuse('--to must be the URL of a PostgreSQL database'))
    expect(await run(['--to-stdin'], 'geheim')).toMatchObject(misuse('stdin must be the URL of a PostgreSQL database'))
    const { status, stdout, stderr } = await run(['--to-stdin', '--json'], `${to}\n`)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(JSON.parse(stdout).complete).toBe(true)
    expect(JSON.parse(stdout).tables).toContainEqual({
      name: 'delivery',
      rows: DELIVERIES,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  })

  it('fails where there is no store, and creates none', async () => {
    const cwd = tempFolder()
    const { status, stderr } = await runCommand(['copy', '--to', 'postgres://u@127.0.0.1:1/x'], { cwd })
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining(`There is no store at ${join(cwd, 'data/teslim.db')}`),
    ])
    expect(() => readFileSync(join(cwd, 'data/teslim.db'))).toThrow('ENOENT')
  })

  it('refuses while a server uses the store, unless --while-serving; a run after the server stopped brings over the rest', async () => {
    const cwd = tempFolder()
    const to = await newDatabase(inject('postgresUrl'))
    const env = { NODE_ENV: 'production' }
    const json = async (...args: string[]) => JSON.parse((await runCommand([...args, '--json'], { cwd, env })).stdout)
    await json('customer', 'add', '--email', 'a@b.co', '--api', '--allow', '*', '--generate')
    const { key } = await json('key', 'issue', '--customer', 'a@b.co')
    const server = await serve({ cwd, env })
    const deliver = async (number: number): Promise<string> => {
      const body = JSON.stringify({ OrderID: `PO-${number}`, Status: 1 })
      const answer = await fetch(`${server.url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body })
      expect(answer.status).toBe(200)
      return ((await answer.json()) as { data: { ReceiptID: string } }).data.ReceiptID
    }
    const receipts = [await deliver(0)]
    const refused = await runCommand(['copy', '--to', to], { cwd, env })
    expect(refused).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^teslim copy: The store is in use by process \d+ on .*--while-serving/),
    })
    expect(await runSql(to, "SELECT FROM pg_tables WHERE schemaname = 'public'")).toEqual([])

    const copyEnds = new AbortController()
    const meanwhile = (async () => {
      for (let number = 1; !copyEnds.signal.aborted; number++) receipts.push(await deliver(number))
    })()
    const { status, stdout } = await runCommand(['copy', '--to', to, '--while-serving'], { cwd, env })
    copyEnds.abort()
    await meanwhile
    expect([status, stdout]).toEqual([
      0,
      expect.stringContaining('is missing: stop the server, then run this command again'),
    ])
    const copied = async () =>
      (await runSql(to, 'SELECT receipt FROM delivery ORDER BY position')).map((row) => row.receipt)
    const first = await copied()
    expect(first).toEqual(receipts.slice(0, first.length))
    expect(first.length).toBeLessThan(receipts.length)

    expect((await json('copy', '--to', to, '--while-serving')).complete).toBe(false)

    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
    expect(await runCommand(['copy', '--to', to], { cwd, env })).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('Both are equal. From now on: DATABASE_URL=postgres'),
    })
    expect(await copied()).toEqual(receipts)
  })
})
