import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, inject, it, onTestFinished } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { newDatabase, runSql } from '../support/postgres-server.ts'
import { webhook } from '../support/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { ALL, attempt, LONG, NOW, save } from '../support/webhook-rows.ts'

const HOUR = 3_600_000

/** Stores with a way to their tables. */
const STORES: Record<string, () => Promise<{ url: string; run: (sql: string) => Promise<unknown[]> }>> = {
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
  postgres: async () => {
    const url = await newDatabase(inject('postgresUrl'))
    return { url, run: (sql) => runSql(url, sql) }
  },
}

for (const [name, make] of Object.entries(STORES)) {
  const prepare = async () => {
    const { url, run } = await make()
    const { store } = await openStore(loadConfig({ DATABASE_URL: url }).config, 0)
    onTestFinished(() => store.close())
    const one = webhook()
    await store.webhooks.add(one)
    expect(await store.webhooks.claim('a', LONG, ALL)).toEqual([one.id])
    /** Sets the clock of the leases so many milliseconds ahead, or back. */
    const setClock = (by: number) =>
      run(`UPDATE webhook_progress SET leased_at = leased_at - (${by}), leased_until = leased_until - (${by})`)
    return { webhooks: store.webhooks, id: one.id, setClock, run }
  }

  it(`${name}: a lease from before the clock was set back is free, and its holder keeps it if it renews first`, async () => {
    const { webhooks, id, setClock } = await prepare()
    await setClock(-HOUR)
    expect(await webhooks.renew('a', LONG)).toMatchObject([{ id }])
    expect(await webhooks.claim('b', LONG, ALL)).toEqual([])
    await setClock(-HOUR)
    expect(await webhooks.claim('b', LONG, ALL)).toEqual([id])
    expect(await webhooks.renew('a', LONG)).toEqual([])
    expect(await webhooks.save('a', [save(id)], NOW)).toEqual([])
  })

  it(`${name}: a clock that was set back a little frees no lease`, async () => {
    const { webhooks, id, setClock } = await prepare()
    await setClock(-LONG / 2)
    expect(await webhooks.claim('b', LONG, ALL)).toEqual([])
    expect(await webhooks.renew('a', LONG)).toMatchObject([{ id }])
  })

  it(`${name}: a clock that was set ahead ends leases, and they can be claimed again`, async () => {
    const { webhooks, id, setClock } = await prepare()
    await setClock(HOUR)
    expect(await webhooks.renew('a', LONG)).toEqual([])
    expect(await webhooks.save('a', [save(id)], NOW)).toEqual([])
    expect(await webhooks.claim('a', LONG, ALL)).toEqual([id])
  })

  it(`${name}: few more attempts are stored than shown`, async () => {
    const { webhooks, id, run } = await prepare()
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
}
