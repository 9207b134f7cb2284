import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, inject, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { copyStore } from '#src/store/copy/copy-store.ts'
import { COPY_TABLES } from '#src/store/copy/copy-tables.ts'
import { openStore } from '#src/store/open-store.ts'
import { newDatabase, runSql } from '../support/postgres-server.ts'
import { teslim } from '../support/process.ts'
import { apiKey, customer, delivery, key } from '../support/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

const DELIVERIES = 2500

/** A store with something in every table. */
async function makeSource() {
  const cwd = tempFolder()
  const path = join(cwd, 'teslim.db')
  const { config } = loadConfig({ DATABASE_URL: `sqlite:${path}` })
  const { store } = await openStore(config, 0)
  const one = customer()
  await store.customers.insert(one)
  await store.customers.insert(customer({ authority: ['ü*', '*'], enabled: false, operator: true }))
  const issued = apiKey(one.id, { expiresAt: 9 })
  await store.apiKeys.insert(issued)
  await store.apiKeys.recordUses([{ keyId: issued.id, usedAt: 5, address: '::1' }])
  await store.apiKeys.rotate(issued.id, apiKey(one.id), { now: 5, endsAt: 7 })
  await store.signingKeys.insertFirst(key())
  const made = Array.from({ length: DELIVERIES }, (_, number) =>
    delivery(one.id, {
      orderId: number % 3 === 0 ? null : `ö"\\${number % 700}`,
      payload: Buffer.from(`{"Status":1,"n":${number % 5},"text":"\u{1f600}\\u0000"}`),
      idempotency: number % 4 === 0 ? { key: `k"${number}`, notBefore: 0 } : null,
    }),
  )
  await Promise.all(made.map((each) => store.deliveries.deliver(each)))
  await store.close()
  const raw = new DatabaseSync(path)
  raw.exec(`
    INSERT INTO service_secret VALUES ('cursor-key', x'00ff');
    INSERT INTO login_failure VALUES (x'00ff', 3, 4, 5);
    INSERT INTO audit_event VALUES (7, 1, 'cli', 'key.issue', NULL, '::1', 'r', '{}');`)
  raw.close()
  return { config, path, cwd, one, made }
}

const source = await makeSource()
const copyTo = (to: string, onProgress = (_: string, __: number, ___: number): void => undefined) =>
  copyStore({ from: source.config, to, now: 0, onProgress })
const digestOfFile = () => createHash('sha256').update(readFileSync(source.path)).digest('hex')

it('knows every table of the store and every column', () => {
  const database = new DatabaseSync(source.path)
  const tables = database
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_migration'`)
    .all()
  expect(COPY_TABLES.map(({ name }) => name).sort()).toEqual(tables.map(({ name }) => name).sort())
  for (const { name, columns } of COPY_TABLES) {
    const there = database.prepare('SELECT name FROM pragma_table_info(?)').all(name)
    // The number of an idempotency key is for SQLite's own use: it tells which one is the oldest.
    const wanted = there.map(({ name }) => name).filter((column) => name !== 'idempotency' || column !== 'number')
    expect(Object.keys(columns)).toEqual(wanted)
  }
  database.close()
})

it('copies everything, compares it, and leaves the source as it is; the copy serves on', async () => {
  const to = await newDatabase(inject('postgresUrl'))
  const before = digestOfFile()
  const copied = await copyTo(to)
  expect(copied.find(({ name }) => name === 'delivery')?.rows).toBe(DELIVERIES)
  expect(copied.filter(({ rows }) => rows === 0)).toEqual([])
  expect(digestOfFile()).toBe(before)

  const [{ store: old }, { store: copy }] = [
    await openStore(source.config, 0),
    await openStore(loadConfig({ DATABASE_URL: to }).config, 0),
  ]
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
  // Sent again with its old key it is known, and what is new comes after all that was copied.
  expect(await copy.deliveries.deliver({ ...first, receiptId: delivery('x').receiptId, idempotency })).toMatchObject({
    receiptId: first.receiptId,
    duplicate: true,
  })
  const fresh = delivery(source.one.id)
  await copy.deliveries.deliver(fresh)
  expect((await copy.deliveries.findByReceipt(fresh.receiptId))?.position).toBeGreaterThan(DELIVERIES)
  await copy.customers.insert(customer())
  await expect(copyTo(to)).rejects.toThrow('not empty')
  await Promise.all([old.close(), copy.close()])
})

it('goes on where a run that was cut off ended', async () => {
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

it('says so when the two differ, and takes no database that holds something else', async () => {
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
  await expect(copyStore({ from: other, to, now: 0, onProgress: () => undefined })).rejects.toThrow('of another store')
})

it('is a command', async () => {
  const to = await newDatabase(inject('postgresUrl'))
  const env = { DATABASE_URL: source.config.databaseUrl }
  const run = (...args: string[]) => teslim(['copy', ...args], { cwd: source.cwd, env })
  expect(await run()).toMatchObject({ status: 2, stderr: expect.stringContaining('--to is required') })
  expect(await run('--to', 'mysql://x')).toMatchObject({ status: 2, stderr: expect.stringContaining('--to must be') })
  const { status, stdout, stderr } = await run('--to', to, '--json')
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(JSON.parse(stdout).tables).toContainEqual({
    name: 'delivery',
    rows: DELIVERIES,
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
})
