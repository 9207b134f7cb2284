import { afterAll, expect, inject, it, onTestFinished } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { purgeDeliveries } from '#src/purchase/purge/purge.rule.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import { pgbouncer, startPgbouncer } from '../support/postgres/pgbouncer.ts'
import { newDatabase, runSql, startPostgres } from '../support/postgres/postgres-server.ts'
import { runCommand } from '../support/processes/command.ts'
import { teslim } from '../support/processes/process.ts'
import { createStoreWith } from '../support/store/create-store.ts'
import { customer, delivery } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

const configOf = (url: string) => loadConfig({ DATABASE_URL: url, TESLIM_DATABASE_POOL: '3' }).config

async function openToServe(url: string): Promise<Store> {
  const { store } = await openStore(configOf(url), 0, { toServe: true })
  onTestFinished(() => store.close())
  return store
}

const doctor = async (DATABASE_URL: string): Promise<string[]> => {
  const { stdout } = await runCommand(['doctor', '--json'], { cwd: tempFolder(), env: { DATABASE_URL } })
  const { checks } = JSON.parse(stdout) as { checks: { status: string; message: string }[] }
  return checks.filter(({ status }) => status === 'failed').map(({ message }) => message)
}

async function newStore(): Promise<string> {
  const url = await newDatabase(inject('postgresUrl'))
  await createStoreWith(url, [])
  return url
}

/** A database that answers some functions in its own way, as another product may. */
async function databaseWith(functions: string): Promise<string> {
  const url = await newStore()
  const name = new URL(url).pathname.slice(1)
  await runSql(url, `CREATE SCHEMA odd; ${functions}; ALTER DATABASE ${name} SET search_path = odd, pg_catalog, public`)
  return url
}

async function expectRefused(url: string, message: string): Promise<void> {
  await expect(openToServe(url)).rejects.toMatchObject({ code: 'STORE_CANNOT_OPEN', message })
  expect(await doctor(url)).toEqual([message])
}

it('a server starts where everything is in order, and doctor finds nothing', async () => {
  const url = await newStore()
  await openToServe(url)
  expect(await doctor(url)).toEqual([])
})

const OWN = 'Of others, only indexes of plain columns that are not unique may be there.'
it.each([
  [
    'a unique index',
    `CREATE UNIQUE INDEX one ON audit_event (action) WHERE action = 'customer.disable'`,
    'index "one" on the table audit_event',
  ],
  ['an index with an expression', 'CREATE INDEX one ON api_key ((1 / customer))', 'index "one" on the table api_key'],
  [
    'a trigger',
    'CREATE TRIGGER one BEFORE UPDATE ON customer FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()',
    'trigger "one" on the table customer',
  ],
  ['a rule', 'CREATE RULE one AS ON INSERT TO audit_event DO INSTEAD NOTHING', 'rule "one" on the table audit_event'],
  ['a policy', 'CREATE POLICY one ON customer USING (false)', 'policy "one" on the table customer'],
  [
    'a check',
    `ALTER TABLE audit_event ADD CHECK (action <> 'customer.disable')`,
    'constraint "audit_event_action_check" on the table audit_event',
  ],
  [
    'a table that refers to ours',
    'CREATE TABLE report (customer bigint CONSTRAINT one REFERENCES customer (number))',
    'constraint "one" on the table customer',
  ],
])('%s that teslim does not make keeps servers from starting, and doctor fails', async (_, sql, what) => {
  const url = await newStore()
  await runSql(url, sql)
  await expectRefused(
    url,
    `The ${what} is not one that teslim makes, and can keep changes and events of the audit log from being stored: remove it. ${OWN}`,
  )
})

it('doctor fails where no event of the audit log can be written', async () => {
  const url = await newStore()
  await runSql(url, `ALTER SEQUENCE audit_event_number_seq MAXVALUE 10; SELECT setval('audit_event_number_seq', 10)`)
  expect(await doctor(url)).toEqual([
    expect.stringMatching(/^the audit log cannot be written, .*reached maximum value of sequence/),
  ])
  expect(await runSql(url, 'SELECT FROM audit_event')).toEqual([])
})

it('plain indexes, views and tables of others may be in the database', async () => {
  const url = await newStore()
  await runSql(
    url,
    `CREATE INDEX fast ON delivery (customer, received_at); CREATE VIEW addresses AS SELECT email FROM customer;
     CREATE TABLE report (number bigint PRIMARY KEY, parent bigint REFERENCES report, CHECK (number > 0));
     CREATE TRIGGER own BEFORE UPDATE ON report FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()`,
  )
  await openToServe(url)
  expect(await doctor(url)).toEqual([])
})

it('ten servers that start at once do not take the trial of one for the lock of another', async () => {
  const url = await newStore()
  await Promise.all(Array.from({ length: 10 }, () => openToServe(url)))
})

if (pgbouncer === undefined) it.skip('(no pgbouncer is installed here, so nothing is tested behind one)')
else {
  it('a pooler in statement mode is refused, before a store is made and after', async () => {
    const message =
      'The pooler before the database is in statement mode, which allows no transactions: set pool_mode = transaction in PgBouncer.'
    for (const url of [await newDatabase(inject('postgresUrl')), await newStore()]) {
      const pooler = await startPgbouncer(url, 'statement')
      await expect(openToServe(pooler)).rejects.toMatchObject({ code: 'STORE_CANNOT_OPEN', message })
      await expect(openStore(configOf(pooler), 0)).rejects.toMatchObject({ message })
      const made = await runSql(url, `SELECT to_regclass('delivery') IS NOT NULL AS there`)
      if (made[0]?.there) expect(await doctor(pooler)).toEqual([message])
    }
  })

  it('a server starts behind a pooler that has a single connection', async () => {
    const pooler = await startPgbouncer(await newStore(), 'transaction', 1)
    const { config } = loadConfig({ DATABASE_URL: pooler, TESLIM_DATABASE_TIMEOUT: '1' })
    await (await openStore(config, 0, { toServe: true })).store.close()
  })

  it.each(['transaction', 'session'])('a server starts behind a pooler in %s mode', async (mode) => {
    const pooler = await startPgbouncer(await newStore(), mode)
    const { store } = await openStore(configOf(pooler), 0, { toServe: true })
    // In session mode it would keep the few connections.
    await store.close()
    expect(await doctor(pooler)).toEqual([])
  })
}

it('a database whose advisory locks do nothing is refused', async () => {
  await expectRefused(
    await databaseWith(
      'CREATE FUNCTION odd.pg_try_advisory_xact_lock(integer, integer) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$',
    ),
    'Advisory locks do nothing in this database: two sessions got the same one at once, so deliveries would be stored out of order and followers would miss some. DATABASE_URL must lead every session to the same PostgreSQL server.',
  )
})

it.each([
  ['CockroachDB', 'CockroachDB CCL v25.2.0 (x86_64-pc-linux-gnu, built 2025/05/09 16:06:58, go1.23.7)'],
  ['YugabyteDB', 'PostgreSQL 15.2-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu'],
])('%s is refused by its name, also by commands', async (name, version) => {
  // Some versions have no such lock at all.
  const url = await databaseWith(`
    CREATE FUNCTION odd.version() RETURNS text LANGUAGE sql AS $$ SELECT '${version}' $$;
    CREATE FUNCTION odd.pg_try_advisory_xact_lock(integer, integer) RETURNS boolean LANGUAGE plpgsql AS
      $$ BEGIN RAISE undefined_function; END $$`)
  const message = `The database is ${name} (${version}), where locks and sequences do not work as in PostgreSQL, so followers would miss deliveries: use PostgreSQL.`
  await expectRefused(url, message)
  await expect(openStore(configOf(url), 0)).rejects.toMatchObject({ message })
})

const source = await startPostgres({ settings: ['wal_level = logical'] })
afterAll(() => source.remove())

it('a database that logical replication filled is refused until its sequences are set, and then loses nobody a delivery', async () => {
  const old = await newDatabase(source.url)
  const moved = await newStore()
  const before = await openToServe(old)
  const one = customer()
  await before.customers.insert(one)
  const deliverTo = (store: Store, orderId: string) => store.deliveries.deliver(delivery(one.id, { orderId }))
  for (const orderId of ['a', 'b', 'a']) await deliverTo(before, orderId)

  await runSql(old, 'CREATE PUBLICATION everything FOR ALL TABLES')
  const tables = await runSql(
    moved,
    `SELECT string_agg(tablename, ',') AS all FROM pg_tables WHERE schemaname = 'public'`,
  )
  await runSql(moved, `TRUNCATE ${tables[0]?.all}`)
  const { hostname, port, username, pathname } = new URL(old)
  const connection = `host=${hostname} port=${port} user=${username} dbname=${pathname.slice(1)}`
  await runSql(moved, `CREATE SUBSCRIPTION moving_${port} CONNECTION '${connection}' PUBLICATION everything`)
  // What changes while it is replicated: rows of a table without a number of its own, of one with a chain, and removed ones.
  for (const orderId of ['c', 'b']) await deliverTo(before, orderId)
  await before.customers.disable(one.id, { reason: 'asked', tokenGeneration: 'other' })
  await before.customers.enable(one.id)
  const purged = await purgeDeliveries(
    { purges: before.purges, yielding: (step) => step() },
    { before: Date.now() * 2, orders: false, unsent: false, now: Date.now() },
  )
  expect(purged.deliveries).toBeGreaterThan(0)
  const all = async (url: string) => {
    const rows = ['delivery', 'order_state', 'account_version', 'roll_up', 'purge', 'customer'].map((table) =>
      runSql(url, `SELECT to_jsonb(t) AS row FROM ${table} t ORDER BY 1`),
    )
    return Promise.all(rows)
  }
  await expect.poll(() => all(moved), { timeout: 15_000 }).toEqual(await all(old))
  const last = await before.deliveries.lastPosition()
  await before.close()
  await runSql(moved, `DROP SUBSCRIPTION moving_${port}`)

  const { status, stderr } = await teslim(['serve'], { cwd: '/', env: { DATABASE_URL: moved, PORT: '0' } })
  expect([status, stderr.split('\n').length]).toEqual([1, 2])
  expect(stderr).toContain(`last_position is at 0, its table at ${last}; customer_number_seq is at 0, its table at 1. `)
  expect(await doctor(moved)).toEqual([expect.stringContaining('Logical replication does not copy sequences.')])
  const [statement = ''] = /SELECT setval\(.*?\)(?= while no server)/.exec(stderr) ?? []
  await runSql(moved, statement)
  const after = await openToServe(moved)
  await after.customers.insert(customer())
  await deliverTo(after, 'd')
  const page = await after.deliveries.after(last, {}, { limit: 10, scan: 10 })
  expect(page.deliveries.map(({ position, orderId }) => [position, orderId])).toEqual([[last + 1, 'd']])
}, 60_000)
