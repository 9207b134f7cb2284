import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { readMigrations } from '#src/store/migrate.ts'
import { openStore } from '#src/store/open-store.ts'
import { openDatabase } from '#src/store/postgres/database.ts'
import type { NewDelivery, Store } from '#src/store/store.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { newDatabase, runSql, startPostgres } from '../support/postgres/postgres-server.ts'
import { deliverBy, newPostgresStore, session } from '../support/postgres/postgres-session.ts'
import { randomBytes } from '../support/random.ts'
import { customer, delivery } from '../support/store/store-rows.ts'
import { openTestStore } from '../support/store/test-store.ts'
import { tempFolder } from '../support/temp-folder.ts'

const at = (databaseUrl: string) => loadConfig({ DATABASE_URL: databaseUrl, TESLIM_DATABASE_TIMEOUT: '10' }).config

const open = (databaseUrl: string) => openTestStore(databaseUrl, { TESLIM_DATABASE_TIMEOUT: '10' })

it('both stores answer alike, whatever comes in one batch', async () => {
  const sqlite = await open(`sqlite:${join(tempFolder(), 'a.db')}`)
  const postgres = await open(await newPostgresStore())
  const stores = [sqlite, postgres]
  const wanted = fc.record({
    who: fc.nat(1),
    orderId: fc.constantFrom('a', 'b"\\{},', 'NULL', null),
    body: fc.nat(2),
    key: fc.option(fc.constantFrom('k', 'l"\\'), { freq: 2 }),
  })
  const batch = fc.record({
    daysLater: fc.constantFrom(0, 0, 8),
    all: fc.array(wanted, { minLength: 1, maxLength: 12 }),
  })
  const batches = fc.array(batch, { minLength: 1, maxLength: 4 })
  let now = 1_763_726_400_000
  await fc.assert(
    fc.asyncProperty(batches, async (made) => {
      const customers = [customer(), customer()]
      for (const store of stores) for (const one of customers) await store.customers.insert(one)
      for (const { daysLater, all } of made) {
        now += daysLater * 86_400_000 + 1
        const deliveries = all.map(({ who, orderId, body, key }) =>
          delivery((customers[who] as { id: string }).id, {
            orderId,
            status: body,
            receivedAt: now,
            payload: Buffer.from(`{"Status":${body}}`),
            idempotency: key === null ? null : { key, notBefore: now - 7 * 86_400_000 },
          }),
        )
        const deliverAll = (store: Store) =>
          Promise.allSettled(deliveries.map((each) => store.deliveries.deliver(each)))
        const [one, other] = await Promise.all([deliverAll(sqlite), deliverAll(postgres)])
        expect(other.map(plain)).toEqual(one.map(plain))
      }
      for (const { id } of customers) {
        for (const orderId of ['a', 'b"\\{},', 'NULL']) {
          const [one, other] = await Promise.all(
            stores.map(async ({ deliveries }) => ({
              state: await deliveries.orderState(id, orderId),
              history: (await deliveries.history(id, orderId)).map(({ position: _, ...rest }) => rest),
            })),
          )
          expect(other).toEqual(one)
        }
      }
    }),
    { numRuns: 40 },
  )
})

const plain = (result: PromiseSettledResult<unknown>): unknown =>
  result.status === 'fulfilled' ? result.value : String(result.reason)

it('a delivery that cannot be stored fails alone, not its neighbours in the batch', async () => {
  const { customers, deliveries } = await open(await newPostgresStore())
  const one = customer()
  await customers.insert(one)
  const good = delivery(one.id)
  const impossible = delivery(one.id, { orderId: randomBytes(6000).toString('base64') })
  const results = await Promise.allSettled(
    [good, delivery('nobody'), impossible].map((each) => deliveries.deliver(each)),
  )
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  expect((await deliveries.findByReceipt(good.receiptId))?.payload).toEqual(Buffer.from(good.payload))
})

const MIGRATIONS = readMigrations(new URL('../../src/store/postgres/migrations/', import.meta.url)).length

it('ten replicas that start at once migrate once', async () => {
  const databaseUrl = await newDatabase(inject('postgresUrl'))
  const opened = await Promise.all(Array.from({ length: 10 }, () => openStore(at(databaseUrl), 0)))
  expect(opened.map(({ migrated }) => migrated.length).sort()).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, MIGRATIONS])
  await Promise.all(opened.map(({ store }) => store.close()))
})

it.each([
  ['a server', true],
  ['a command', false],
])('%s that finds no connection left waits for one', async (_, toServe) => {
  const admin = new URL(await newDatabase(inject('postgresUrl')))
  const role = admin.pathname.slice(1)
  await runSql(admin.href, `CREATE ROLE ${role} LOGIN CONNECTION LIMIT 0; GRANT ALL ON SCHEMA public TO ${role}`)
  const refused = Promise.withResolvers<void>()
  const proxy = await startTcpProxy(admin.href, (piece) => {
    if (piece.includes('too many connections')) refused.resolve()
    return piece.length
  })
  const url = new URL(admin)
  url.username = role
  url.port = `${proxy.port}`
  const opening = openStore(at(url.href), 0, { toServe })
  await refused.promise
  await runSql(admin.href, `ALTER ROLE ${role} CONNECTION LIMIT 3`)
  const { store } = await opening
  expect(await store.customers.list({ limit: 1 })).toEqual([])
  await store.close()
})

it('a database without any connection left is given up after a while', async () => {
  const url = new URL(await newPostgresStore())
  const role = url.pathname.slice(1)
  await runSql(url.href, `CREATE ROLE ${role} LOGIN CONNECTION LIMIT 0`)
  url.username = role
  await expect(openStore(at(url.href), 0)).rejects.toThrow(`too many connections for role "${role}"`)
})

it('works beside a newer version whose migration says that it may, and not beside another one', async () => {
  const databaseUrl = await newPostgresStore()
  await (await openStore(at(databaseUrl), 0)).store.close()
  await runSql(databaseUrl, "INSERT INTO schema_migration VALUES (9998, 'from-the-future', '', 0, 1, '9.0.0')")
  const { store, migrated } = await openStore(at(databaseUrl), 0)
  expect(migrated).toEqual([])
  await store.close()
  await runSql(databaseUrl, "INSERT INTO schema_migration VALUES (9999, 'from-the-future', '', 0, 9999, '9.0.0')")
  await expect(openStore(at(databaseUrl), 0)).rejects.toMatchObject({ code: 'STORE_NEWER' })
})

it('whoever follows the positions misses nothing and sees nothing twice, with a transaction left open meanwhile', async () => {
  const databaseUrl = await newPostgresStore()
  const replicas = [await open(databaseUrl), await open(databaseUrl)] as [Store, Store]
  const one = customer()
  await replicas[0].customers.insert(one)
  const slow = await session(databaseUrl)

  const PER_WRITER = 60
  const WRITERS = 12
  let writing = WRITERS
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    const { deliveries } = replicas[writer % 2] as Store
    for (let number = 0; number < PER_WRITER; number++) {
      await deliveries.deliver(
        delivery(one.id, { orderId: `${writer}`, status: 1, payload: Buffer.from(`{"n":${number}}`) }),
      )
    }
    writing--
  })
  const seen: { position: number; writer: string; number: number }[] = []
  const look = async (): Promise<void> => {
    const after = seen.at(-1)?.position ?? 0
    const rows = await runSql(
      databaseUrl,
      'SELECT position::int, order_id, payload FROM delivery WHERE position > $1 ORDER BY position LIMIT 50',
      [after],
    )
    for (const { position, order_id: writer, payload } of rows) {
      seen.push({ position: position as number, writer: writer as string, number: JSON.parse(String(payload)).n })
    }
  }
  for (let round = 0; writing > 0; round++) {
    if (round === 0) {
      await slow.query('BEGIN')
      await deliverBy(slow, delivery(one.id, { orderId: 'slow', payload: Buffer.from('{"n":0}') }))
    }
    if (round === 13) await slow.query('COMMIT')
    await look()
  }
  await Promise.all(writers)
  for (let before = -1; before < seen.length; ) {
    before = seen.length
    await look()
  }
  const counts = Map.groupBy(seen, ({ writer }) => writer)
  expect(counts.get('slow')).toHaveLength(1)
  for (let writer = 0; writer < WRITERS; writer++) {
    expect(counts.get(`${writer}`)?.map(({ number }) => number)).toEqual(
      Array.from({ length: PER_WRITER }, (_, n) => n),
    )
  }
})

it('who watches is told of every commit, by notice or not, and again when the connection was lost', async () => {
  const databaseUrl = await newPostgresStore()
  const [here, there] = [await open(databaseUrl), await open(databaseUrl)]
  const one = customer()
  await here.customers.insert(one)
  let tail = 0
  let waiting = Promise.withResolvers<void>()
  const look = async (): Promise<void> => {
    const { position } = await here.deliveries.arrivals(tail)
    if (position > tail) waiting.resolve()
    tail = position
  }
  const stop = here.deliveries.watch(() => void look().catch(() => undefined))
  const deliverAndWait = async (): Promise<void> => {
    waiting = Promise.withResolvers()
    await there.deliveries.deliver(delivery(one.id))
    await waiting.promise
  }
  const listeners = `FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%7425, -%' AND pid <> pg_backend_pid()`
  for (let number = 0; number < 20; number++) await deliverAndWait()
  for (let number = 0; number < 2; number++) {
    await expect.poll(() => runSql(databaseUrl, `SELECT 1 ${listeners}`), { timeout: 10_000 }).toHaveLength(1)
    await runSql(databaseUrl, `SELECT pg_terminate_backend(pid) ${listeners}`)
    await deliverAndWait()
  }
  await expect.poll(() => runSql(databaseUrl, `SELECT 1 ${listeners}`), { timeout: 10_000 }).toHaveLength(1)
  await deliverAndWait()
  stop()
  await expect.poll(() => runSql(databaseUrl, `SELECT 1 ${listeners}`)).toHaveLength(0)
})

it.each([
  ['postgres://x@127.0.0.1:1/none', 'cannot be reached'],
  ['postgres://x@127.0.0.1:1,127.0.0.1:2/none', 'cannot be reached'],
  ['postgres://x@127.0.0.1/none?target_session_attrs=standby', 'target_session_attrs=standby'],
  ['postgres://x@127.0.0.1/none?connect_timeout=soon', 'connect_timeout'],
])('says why %s cannot be opened', async (wrong, why) => {
  await expect(openStore(at(wrong), 0)).rejects.toMatchObject({
    code: 'STORE_CANNOT_OPEN',
    message: expect.stringContaining(why),
  })
})

it('a statement that a migration made useless is prepared again', async () => {
  const databaseUrl = await newPostgresStore()
  await runSql(databaseUrl, 'CREATE TABLE changing (number bigint); INSERT INTO changing VALUES (1)')
  const { query, close } = await openDatabase({ url: databaseUrl, connections: 3, timeoutSeconds: 5 })
  afterAll(close)
  const ask = async () => (await query('SELECT number FROM changing WHERE number::text = $1', '1')).rows
  expect(await ask()).toEqual([{ number: 1 }])
  await runSql(databaseUrl, 'ALTER TABLE changing ALTER number TYPE text')
  await expect(ask()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(await ask()).toEqual([{ number: '1' }])
})

it('refuses a database that would confirm what it can lose', async () => {
  const databaseUrl = await newPostgresStore()
  await runSql(databaseUrl, `ALTER DATABASE ${new URL(databaseUrl).pathname.slice(1)} SET synchronous_commit = off`)
  await expect(openStore(at(databaseUrl), 0)).rejects.toThrow('synchronous_commit')
})

describe('a server of its own', async () => {
  const servers = [await startPostgres(), await startPostgres()] as const
  afterAll(() => Promise.all(servers.map((server) => server.remove())))
  const [first, second] = servers

  it('that is killed fails deliveries at once, and is found again by itself', async () => {
    const store = await open(first.url)
    const one = customer()
    await store.customers.insert(one)
    const deliver = () => store.deliveries.deliver(delivery(one.id))
    await deliver()
    await first.kill()
    await expect(deliver()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(store.ping()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    const started = performance.now()
    const many = await Promise.allSettled(Array.from({ length: 500 }, deliver))
    expect(many.every(({ status }) => status === 'rejected')).toBe(true)
    // Far below any timeout: nobody waits for a connection.
    expect(performance.now() - started).toBeLessThan(1000)
    await first.start()
    await expect.poll(() => deliver().catch((error) => error.code), { timeout: 10_000 }).toMatchObject({ status: 1 })
  })

  it('is asked to write for the health check only where nothing was stored lately', async () => {
    const store = await open(first.url)
    const written = async () =>
      Number((await runSql(first.url, 'SELECT pg_snapshot_xmax(pg_current_snapshot()) AS next'))[0]?.next)
    const place = async (of: string) =>
      (await runSql(first.url, `SELECT (pg_current_wal_${of}_lsn() - '0/0')::float8 AS place`))[0]?.place as number
    const before = await written()
    const synced = await place('insert')
    await store.ping()
    expect(await place('flush')).toBeGreaterThan(synced)
    const once = await written()
    expect(once).toBeGreaterThan(before)
    for (let number = 0; number < 50; number++) await store.ping()
    // Something of the server's own may come between.
    expect((await written()) - once).toBeLessThan(10)
    await runSql(first.url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'teslim'`)
    const writtenAfterwards = async () => {
      await store.ping().catch(() => undefined)
      return written()
    }
    await expect.poll(writtenAfterwards, { timeout: 5000 }).toBeGreaterThan(once)
  })

  it('that becomes a standby is left for the one that takes writes', async () => {
    const { host: other } = new URL(second.url)
    const both = first.url.replace(/@([^/]+)/, `@$1,${other}`)
    const makeReadOnly = async (serverUrl: string, readOnly: boolean) => {
      await runSql(serverUrl, `SET default_transaction_read_only = off`)
      const client = new pg.Client({ connectionString: serverUrl, options: '-c default_transaction_read_only=off' })
      client.on('error', () => undefined)
      await client.connect()
      await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${readOnly ? 'on' : 'off'}`)
      await client.query('SELECT pg_reload_conf()')
      await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()')
      await client.end()
    }
    for (const { url } of servers) await (await openStore(at(url), 0)).store.close()
    await makeReadOnly(first.url, true)
    const store = await open(both)
    const one = customer()
    await store.customers.insert(one)
    const made: NewDelivery[] = []
    const deliver = async () => {
      made.push(delivery(one.id))
      return store.deliveries.deliver(made.at(-1) as NewDelivery)
    }
    await deliver()
    expect(await runSql(second.url, 'SELECT count(*)::int AS count FROM delivery')).toEqual([{ count: 1 }])
    await runSql(first.url, 'SELECT 1')
    await makeReadOnly(first.url, false)
    await makeReadOnly(second.url, true)
    await expect
      .poll(() => store.customers.insert(one).catch((error) => error.code), { timeout: 10_000 })
      .toBe('inserted')
    // They go through a connection of their own, which may learn of its end later.
    await expect.poll(() => deliver().catch((error) => error.code), { timeout: 10_000 }).toMatchObject({ status: 1 })
    const rows = await runSql(first.url, 'SELECT receipt FROM delivery WHERE receipt = $1', [made.at(-1)?.receiptId])
    expect(rows).toHaveLength(1)
  })
})

it('deliveries can be partitioned by month while they come in, and old months dropped', async () => {
  const databaseUrl = await newPostgresStore()
  const store = await open(databaseUrl)
  const one = customer()
  await store.customers.insert(one)
  const receiptAt = (time: number): string => {
    const hex = time.toString(16).padStart(12, '0')
    return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${randomBytes(6).toString('hex')}`
  }
  const deliver = (time: number, status: number, key?: string) =>
    store.deliveries.deliver(
      delivery(one.id, {
        receiptId: receiptAt(time),
        receivedAt: time,
        orderId: 'a',
        status,
        payload: Buffer.from(`{"Status":${status}}`),
        idempotency: key === undefined ? null : { key, notBefore: 0 },
      }),
    )
  const month = 31 * 86_400_000
  const now = Date.now()
  await deliver(now - 2 * month, 1, 'old')
  const migrated = new AbortController()
  let delivered = 0
  const supplier = (async () => {
    while (!migrated.signal.aborted) await deliver(now, (delivered++ % 2) + 1)
  })()
  const script = readFileSync(new URL('../../deploy/postgres/partition-by-month.sql', import.meta.url), 'utf8')
  // psql runs each statement by itself, too.
  for (const statement of script.split(/;\n(?=\n|ALTER)/)) await runSql(databaseUrl, statement)
  migrated.abort()
  await supplier

  const later = await deliver(now + 4 * month, 3)
  const partitions = `SELECT FROM pg_inherits WHERE inhparent = 'delivery'::regclass`
  expect((await runSql(databaseUrl, partitions)).length).toBe(25)
  expect(await store.deliveries.findByReceipt(later.receiptId)).toMatchObject({ status: 3, duplicate: false })
  expect((await store.deliveries.history(one.id, 'a')).length).toBe(delivered + 2)
  const storage = await runSql(
    databaseUrl,
    `SELECT DISTINCT attstorage::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE attname = 'payload' AND relname LIKE 'delivery%' AND relkind IN ('r', 'p')`,
  )
  expect(storage).toEqual([{ attstorage: 'e' }])

  await runSql(databaseUrl, 'DROP TABLE delivery_before')
  expect((await store.deliveries.history(one.id, 'a')).map(({ receiptId }) => receiptId)).toEqual([later.receiptId])
  expect(await deliver(now + 4 * month, 3)).toMatchObject({ duplicate: true, receiptId: later.receiptId })
  expect(await deliver(now + 4 * month, 1, 'old')).toMatchObject({ duplicate: false })
})
