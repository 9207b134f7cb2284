import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { readMigrations } from '#src/store/migrate.ts'
import { openStore } from '#src/store/open-store.ts'
import { type Database, openDatabase, useWriteAheadLog } from '#src/store/sqlite/database.ts'
import { createStoreFile } from '#src/store/sqlite/store-file.ts'
import { customer, delivery } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const folder = tempFolder()
const at = (name: string) => loadConfig({ DATABASE_URL: `sqlite:${join(folder, name)}` }).config

it('makes its folder and file for their owner only', async () => {
  const { store } = await openStore(at('deep/er/teslim.db'), 0)
  await store.signingKeys.list()
  expect(statSync(join(folder, 'deep/er')).mode & 0o777).toBe(0o700)
  for (const file of ['teslim.db', 'teslim.db-wal', 'teslim.db-shm']) {
    expect(statSync(join(folder, 'deep/er', file)).mode & 0o077).toBe(0)
  }
  await store.close()
})

it.each(['sqlite::memory:', 'sqlite:file:x.db', 'sqlite:x.db?mode=ro', 'sqlite://x.db'])(
  'refuses %s, which does not name a file',
  async (url) => {
    const { config } = loadConfig({ DATABASE_URL: url })
    await expect(openStore(config, 0)).rejects.toMatchObject({ code: 'STORE_CANNOT_OPEN' })
  },
)

function newDatabase(name: string): Database {
  const path = join(folder, name)
  createStoreFile(path)
  const database = openDatabase(path)
  useWriteAheadLog(database)
  return database
}

it('writes with a synced log', () => {
  const database = newDatabase('pragmas.db')
  expect(database.get('PRAGMA journal_mode')).toEqual({ journal_mode: 'wal' })
  expect(database.get('PRAGMA synchronous')).toEqual({ synchronous: 2 })
  expect(database.get('PRAGMA foreign_keys')).toEqual({ foreign_keys: 1 })
  database.close()
})

it('cuts the log after somebody who read for long has let it grow', () => {
  const database = newDatabase('log.db')
  const log = () => statSync(join(folder, 'log.db-wal')).size
  database.script('CREATE TABLE filler (bytes BLOB)')
  const reader = openDatabase(join(folder, 'log.db'), { readOnly: true })
  reader.script('BEGIN; SELECT * FROM filler')
  const write = () => database.run('INSERT INTO filler VALUES (zeroblob(1000000))')
  for (let megabytes = 0; megabytes < 80; megabytes++) write()
  expect(log()).toBeGreaterThan(70 * 1024 ** 2)
  reader.close()
  write()
  write()
  expect(log()).toBeLessThanOrEqual(64 * 1024 ** 2)
  database.close()
})

it('applies each migration once, even when many processes start at once', async () => {
  const path = join(folder, 'many.db')
  const script = `
    const { openStore } = await import('#src/store/open-store.ts')
    const { store, migrated } = await openStore({ databaseUrl: 'sqlite:' + process.argv[1], databasePool: 2, databaseTimeoutSeconds: 1, requestTimeoutSeconds: 15 }, 0)
    await store.close()
    console.log(migrated.length)`
  const starts = Array.from({ length: 6 }, async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let printed = ''
    child.stdout.on('data', (chunk) => (printed += chunk))
    await once(child, 'close')
    return Number(printed)
  })
  const all = readMigrations(new URL('../../src/store/sqlite/migrations/', import.meta.url))
  const applied = await Promise.all(starts)
  expect(applied.toSorted()).toEqual([0, 0, 0, 0, 0, all.length])
  const rows = new DatabaseSync(path).prepare('SELECT number FROM schema_migration ORDER BY number').all()
  expect(rows).toEqual(all.map(({ number }) => ({ number })))
})

it('refuses a store made by a newer version and leaves it as it is', async () => {
  const { store } = await openStore(at('newer.db'), 0)
  await store.close()
  const raw = new DatabaseSync(join(folder, 'newer.db'))
  raw.exec("INSERT INTO schema_migration VALUES (9999, 'from-the-future', '', 0, 9999, '9.0.0')")
  await expect(openStore(at('newer.db'), 0)).rejects.toMatchObject({
    code: 'STORE_NEWER',
    message: expect.stringContaining('schema 9999'),
  })
  raw.close()
})

it('works beside a newer version whose migration allows it', async () => {
  const { store: before } = await openStore(at('ahead.db'), 0)
  await before.close()
  const raw = new DatabaseSync(join(folder, 'ahead.db'))
  raw.exec("INSERT INTO schema_migration VALUES (9999, 'from-the-future', '', 0, 1, '9.0.0')")
  raw.close()
  const { store, migrated } = await openStore(at('ahead.db'), 0)
  expect(migrated).toEqual([])
  expect(await store.customers.list({ limit: 1 })).toEqual([])
  await store.close()
})

it('says which file it cannot open', async () => {
  writeFileSync(join(folder, 'a-file'), '')
  await expect(openStore(at('a-file/teslim.db'), 0)).rejects.toMatchObject({
    code: 'STORE_CANNOT_OPEN',
    message: expect.stringContaining('a-file/teslim.db'),
  })
  writeFileSync(join(folder, 'not-a-store.db'), 'this is certainly not a database file, whatever its name says')
  await expect(openStore(at('not-a-store.db'), 0)).rejects.toMatchObject({ code: 'STORE_CANNOT_OPEN' })
})

it('refuses a statement with too few or too many values, and undoes a failed transaction', () => {
  const database = newDatabase('wrapper.db')
  database.script('CREATE TABLE t (a, b)')
  expect(() => database.run('INSERT INTO t VALUES ($1, $2)', 1)).toThrow('2 parameters expected, 1 given')
  expect(() => database.run('INSERT INTO t VALUES ($1, $2)', 1, 2, 3)).toThrow('2 parameters expected, 3 given')
  expect(() =>
    database.transaction(() => {
      database.run('INSERT INTO t VALUES ($1, $2)', 1, 2)
      throw new Error('on purpose')
    }),
  ).toThrow('on purpose')
  expect(database.all('SELECT * FROM t')).toEqual([])
  database.run('INSERT INTO t VALUES ($2, $1)', 'second', 'first')
  expect(database.all('SELECT * FROM t')).toEqual([{ a: 'first', b: 'second' }])
  database.close()
})

it('says that a full disk is not a defect, and goes on when there is room', () => {
  const database = newDatabase('full.db')
  database.script('CREATE TABLE t (a); PRAGMA max_page_count = 20')
  const insert = () => database.transaction(() => database.run('INSERT INTO t VALUES ($1)', Buffer.alloc(50_000)))
  const codeOf = (work: () => unknown): unknown => {
    try {
      return work()
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  expect([codeOf(insert), codeOf(insert)]).toEqual([1, 'STORE_UNAVAILABLE'])
  database.script('PRAGMA max_page_count = 2000')
  expect(insert()).toBe(1)
  database.close()
})

it('refuses migrations with a gap in their numbers', () => {
  mkdirSync(join(folder, 'gap'))
  writeFileSync(join(folder, 'gap', '0002-second.sql'), '')
  expect(() => readMigrations(new URL(`file://${folder}/gap/`))).toThrow('0002-second.sql breaks the numbering')
})

it('reads from a migration which older programs still work with it', () => {
  mkdirSync(join(folder, 'kinds'))
  writeFileSync(join(folder, 'kinds', '0001-first.sql'), 'SELECT 1;')
  writeFileSync(join(folder, 'kinds', '0002-second.sql'), '-- Why.\n-- Runs with programs from 0001 on.\nSELECT 1;')
  expect(readMigrations(new URL(`file://${folder}/kinds/`)).map(({ oldest }) => oldest)).toEqual([1, 1])
})

it('reports all arrivals, remembered or looked up, whatever another process stores in between', async () => {
  const { store } = await openStore(at('arrivals.db'), 0)
  const { store: another } = await openStore(at('arrivals.db'), 0)
  onTestFinished(async () => {
    await store.close()
    await another.close()
  })
  const customers = [customer(), customer(), customer()]
  for (const each of customers) await store.customers.insert(each)
  const idOf = (number: number) => customers[number]?.id ?? ''
  const file = new DatabaseSync(join(folder, 'arrivals.db'), { readOnly: true })
  onTestFinished(() => file.close())
  const stored = file.prepare(
    'SELECT position, c.id FROM delivery d JOIN customer c ON c.number = d.customer WHERE position > ? ORDER BY position',
  )
  const act = fc.oneof(
    fc.record({
      by: fc.constantFrom('this', 'this', 'this', 'another'),
      customers: fc.array(fc.nat(2), { maxLength: 3 }),
    }),
    fc.record({ repeat: fc.constant(true) }),
    fc.record({ look: fc.constant(true) }),
    fc.record({ watch: fc.boolean() }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 20 }), async (acts) => {
      let stop: (() => void) | undefined = store.deliveries.watch(() => undefined)
      let tail = Number(file.prepare('SELECT coalesce(max(position), 0) AS last FROM delivery').get()?.last)
      const look = async () => {
        const { position, customerIds } = await store.deliveries.arrivals(tail)
        const rows = stored.all(tail).filter((row) => Number(row.position) <= position)
        expect(customerIds.toSorted()).toEqual([...new Set(rows.map(({ id }) => String(id)))].toSorted())
        tail = position
      }
      const idempotency = { key: randomUUID(), notBefore: 0 }
      for (const step of acts) {
        if ('look' in step) await look()
        else if ('repeat' in step)
          await store.deliveries.deliver({ ...delivery(idOf(0)), payload: Buffer.from('{}'), idempotency })
        else if ('watch' in step) {
          stop?.()
          stop = step.watch ? store.deliveries.watch(() => undefined) : undefined
        } else {
          const { deliveries } = step.by === 'this' ? store : another
          await Promise.all(step.customers.map((number) => deliveries.deliver(delivery(idOf(number)))))
        }
      }
      await look()
      await look()
      expect(stored.all(tail)).toEqual([])
      stop?.()
    }),
    { numRuns: 60 },
  )
})

it('a purge waits for the lock of a server in every step', async () => {
  const { store } = await openStore(at('waits.db'), 0)
  onTestFinished(() => store.close())
  const one = customer()
  await store.customers.insert(one)
  const large = Array.from({ length: 300 }, () => delivery(one.id, { orderId: null, payload: Buffer.alloc(4000) }))
  await Promise.all(large.map((each) => store.deliveries.deliver(each)))
  const file = new DatabaseSync(join(folder, 'waits.db'))
  onTestFinished(() => file.close())
  const { purges } = store
  const scope = { before: Number.MAX_SAFE_INTEGER, orders: true, unsent: false, now: 0 }
  const page = { ...scope, after: 0, until: 250, scan: 1000, dryRun: false }
  const steps = [
    () => purges.announce(1),
    () => purges.announceErasure(),
    () => purges.page(page),
    () => purges.claim({ now: 1, until: 2, due: 1 }),
    () => purges.renew(2, 3),
    () => purges.finish(1, []),
    () => purges.giveBack(0),
    () => purges.erase(one.id, 0, 10),
    () => purges.eraseNames(one.id),
  ]
  for (const step of steps) {
    file.exec('BEGIN IMMEDIATE')
    const start = performance.now()
    const done = step()
    done.catch(() => undefined)
    await until('longer than SQLite itself waits', () => performance.now() - start > 150)
    file.exec('COMMIT')
    await done
  }
})
