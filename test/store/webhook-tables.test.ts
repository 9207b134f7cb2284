import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { runSql } from '../support/postgres/postgres-server.ts'
import { newPostgresStore } from '../support/postgres/postgres-session.ts'
import { webhook } from '../support/store/store-rows.ts'
import { openTestStore } from '../support/store/test-store.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { ALL, attempt, confirmation, LONG, NOW, save } from '../support/webhooks/webhook-rows.ts'

const HOUR = 3_600_000

const MAX_JOURNAL_BYTES = 64 * 1024 * 1024

const postgres = async () => {
  const url = await newPostgresStore()
  return { url, run: (sql: string) => runSql(url, sql) }
}

/** Stores with a way to their tables. */
const STORES: Record<string, () => Promise<{ url: string; run: (sql: string) => Promise<Record<string, unknown>[]> }>> =
  {
    sqlite: async () => {
      const path = join(tempFolder(), 'clock.db')
      const run = async (sql: string) => {
        const raw = new DatabaseSync(path)
        const rows = raw.prepare(sql).all()
        raw.close()
        return rows
      }
      return { url: `sqlite:${path}`, run }
    },
    postgres,
  }

const prepare = async (make: (typeof STORES)[string]) => {
  const { url, run } = await make()
  const store = await openTestStore(url)
  const one = webhook()
  await store.webhooks.add(one)
  expect(await store.webhooks.hold('a', LONG, ALL)).toMatchObject([{ id: one.id }])
  return { webhooks: store.webhooks, id: one.id, run }
}

for (const [name, make] of Object.entries(STORES)) {
  it(`${name}: few more attempts are stored than shown`, async () => {
    const { webhooks, id, run } = await prepare(make)
    for (let round = 0; round < 300; round++) {
      const attempts = Array.from({ length: round % 9 }, () => attempt())
      await webhooks.save('a', [save(id, { attempts })], NOW)
    }
    expect(await webhooks.attempts(id, ALL)).toHaveLength(500)
    const stored = (await run('SELECT number FROM webhook_attempt')).length
    expect([stored, stored < 520]).toEqual([stored, true])
    for (let count = 0; count < 16; count++) await webhooks.recordAttempt(id, attempt())
    expect((await run('SELECT number FROM webhook_attempt')).length).toBeLessThan(520)
  })

  it(`${name}: a journal that exceeds 64 MiB loses the oldest, but for what lies after the position`, async () => {
    const { webhooks, id, run } = await prepare(make)
    const size = async () => Number((await run('SELECT journal_bytes AS bytes FROM webhook_progress'))[0]?.bytes)
    const confirm = (position: number, confirmed: number | number[], now: number) =>
      webhooks.save('a', [save(id, { position, confirmed: [confirmed].flat().map((each) => confirmation(each)) })], now)
    for (let round = 0; round < 15; round++) {
      const blocks = Array.from({ length: 100 }, (_, n) => 100 * round + n)
      await confirm(
        7,
        blocks.map((block) => 4096 * block + 1),
        NOW + round,
      )
    }
    expect(await size()).toBe(1500 * 206)
    await run(`UPDATE webhook_progress SET journal_bytes = ${MAX_JOURNAL_BYTES}`)
    await confirm(7, 1, NOW + 2000)
    await webhooks.tidy(NOW)
    expect(await size()).toBeGreaterThan(MAX_JOURNAL_BYTES)
    expect((await run('SELECT block FROM webhook_confirmed')).length).toBe(1501)
    await confirm(4096 * 1200, 2, NOW + 2001)
    await webhooks.tidy(NOW)
    const left = (await run('SELECT block FROM webhook_confirmed ORDER BY at, block')).map(({ block }) => Number(block))
    expect(left).toEqual([...Array.from({ length: 500 }, (_, n) => 1000 + n), 0, 0])
    expect(await size()).toBe(MAX_JOURNAL_BYTES + 2 * 206 - 1000 * 206)
  })
}

/** Sets the clock of the leases so many milliseconds ahead, or back. */
const setClock = (by: number): string =>
  `UPDATE webhook_progress SET leased_at = leased_at - (${by}), leased_until = leased_until - (${by})`

it('a lease from before the clock was set back is free, and its holder keeps it if it renews first', async () => {
  const { webhooks, id, run } = await prepare(postgres)
  await run(setClock(-HOUR))
  expect(await webhooks.hold('a', LONG, 0)).toMatchObject([{ id }])
  expect(await webhooks.hold('b', LONG, ALL)).toEqual([])
  await run(setClock(-HOUR))
  expect(await webhooks.hold('b', LONG, ALL)).toMatchObject([{ id, isNew: true }])
  expect(await webhooks.hold('a', LONG, 0)).toEqual([])
  expect(await webhooks.save('a', [save(id)], NOW)).toEqual([])
})

it('a clock that was set back a little frees no lease', async () => {
  const { webhooks, id, run } = await prepare(postgres)
  await run(setClock(-LONG / 2))
  expect(await webhooks.hold('b', LONG, ALL)).toEqual([])
  expect(await webhooks.hold('a', LONG, 0)).toMatchObject([{ id, isNew: false }])
})

it('a clock that was set ahead ends leases, and they can be had again', async () => {
  const { webhooks, id, run } = await prepare(postgres)
  await run(setClock(HOUR))
  expect(await webhooks.hold('a', LONG, 0)).toEqual([])
  expect(await webhooks.save('a', [save(id)], NOW)).toEqual([])
  expect(await webhooks.hold('a', LONG, ALL)).toMatchObject([{ id, isNew: true }])
})
