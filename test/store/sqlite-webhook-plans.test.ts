import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { openDatabase } from '#src/store/sqlite/database.ts'
import { webhookLeases } from '#src/store/sqlite/webhooks/leases.ts'
import { bindOperations } from '#src/store/sqlite/webhooks/operations.ts'
import { webhookProgress } from '#src/store/sqlite/webhooks/progress.ts'
import { webhookReads } from '#src/store/sqlite/webhooks/reads.ts'
import { webhookWrites } from '#src/store/sqlite/webhooks/writes.ts'
import type { WebhookStore } from '#src/store/store.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { ALL, attempt, LONG, save, waiting } from '../support/webhook-rows.ts'

/** 100 endpoints, each with 200 deliveries that wait, a tenth of them set aside, 300 attempts and 300 minutes; and 20,000 deliveries. */
const FILL = `
  INSERT INTO customer (id, email, password_hash, is_api, operator, read_only, enabled, token_generation, created_at)
  SELECT 'c-' || n, 'c-' || n, '', 1, 1, 1, 1, '', 0 FROM numbers WHERE n <= 100;
  INSERT INTO delivery (position, receipt, customer, status, received_at, payload)
  SELECT n, CAST(printf('%016d', n) AS BLOB), n % 100 + 1, 1, n, x'00' FROM numbers WHERE n <= 20000;
  INSERT INTO webhook (id, url, duplicates, created_at, secret, version) SELECT 'w-' || n, 'u', 1, n, 's', 1 FROM numbers WHERE n <= 100;
  INSERT INTO webhook_progress (webhook, epoch, position, generation, confirmed) SELECT id, 1, 20000, 0, '' FROM webhook;
  INSERT INTO webhook_waiting (webhook, position, failures, set_aside_at)
  SELECT 'w-' || (n % 100 + 1), n, 1, CASE WHEN n / 100 % 10 = 0 THEN n END FROM numbers WHERE n <= 20000;
  INSERT INTO webhook_attempt (webhook, at, position, customer, milliseconds) SELECT 'w-' || (n % 100 + 1), n, n % 20000, n % 100 + 1, 1 FROM numbers WHERE n <= 30000;
  INSERT INTO webhook_minute (webhook, minute, succeeded, failed, longest) SELECT 'w-' || (n % 100 + 1), n / 100, 1, 1, 1 FROM numbers WHERE n <= 30000`

/** What the engine, operators and an erasure do. The times are as old as the rows, so that nothing expires, except at the end. */
async function useAll(webhooks: WebhookStore): Promise<void> {
  const held = await webhooks.claim('a', LONG, 50)
  expect(held).toHaveLength(50)
  const attempts = [attempt({ at: 1, position: 5 })]
  const minutes = [{ minute: 7, succeeded: 1, failed: 0, longestMilliseconds: 1 }]
  const saves = held.map((id) => save(id, { waiting: [waiting(3), waiting(4)], settled: [3, 5, 6], attempts, minutes }))
  for (let times = 0; times < 8; times++) {
    expect(await webhooks.renew('a', LONG)).toHaveLength(50)
    expect(await webhooks.save('a', saves, 0)).toHaveLength(50)
  }
  const [id = ''] = held
  await webhooks.recordAttempt(id, attempt())
  expect(await webhooks.list()).toHaveLength(100)
  expect((await webhooks.load(id))?.waiting.length).toBeGreaterThan(100)
  expect(await webhooks.failing(id, ALL)).not.toEqual([])
  expect(await webhooks.attempts(id, 10)).toHaveLength(10)
  expect(await webhooks.minutes(id, 250)).not.toEqual([])
  expect(await webhooks.replay(id, { position: 9 }, 1)).toBe(1)
  expect(await webhooks.replay(id, 'set-aside', 1)).toBeGreaterThan(10)
  await webhooks.change(id, { place: { position: 3, generation: 0 } })
  await webhooks.save('a', saves, 86_400_100)
  await webhooks.remove(id)
}

it('SQLite finds what belongs to an endpoint by an index, whether or not it has statistics', async () => {
  const path = join(tempFolder(), 'plans.db')
  await (await openStore(loadConfig({ DATABASE_URL: `sqlite:${path}` }).config, 0)).store.close()
  const raw = new DatabaseSync(path)
  raw.exec(
    'CREATE TEMP TABLE numbers AS WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 30000) SELECT n FROM r',
  )
  raw.exec(FILL)
  const empty = [
    'webhook',
    'webhook_progress',
    'webhook_waiting',
    'webhook_attempt',
    'webhook_minute',
    'delivery',
    'customer',
  ]
  for (const statistics of [false, true]) {
    if (statistics) {
      for (const table of empty) raw.exec(`DELETE FROM ${table}`)
      raw.exec(FILL)
      raw.exec('ANALYZE')
    }
    const database = openDatabase(path)
    const steps = new Set<string>()
    const explained =
      (name: 'all' | 'get' | 'run') =>
      (sql: string, ...values: never[]) => {
        for (const { detail } of /^\s*PRAGMA/.test(sql) ? [] : database.all(`EXPLAIN QUERY PLAN ${sql}`, ...values))
          steps.add(`${detail}: ${sql}`)
        return database[name](sql, ...values)
      }
    const watched = { ...database, all: explained('all'), get: explained('get'), run: explained('run') }
    const all = { ...webhookReads, ...webhookLeases, ...webhookProgress, ...webhookWrites }
    await useAll(bindOperations(all, watched as typeof database) as unknown as WebhookStore)
    watched.run('DELETE FROM webhook_attempt WHERE customer = $1', ...([1] as never[]))
    database.close()
    // Every endpoint is looked at when all are listed, claimed or renewed.
    expect([...steps].filter((step) => /^SCAN (?!json_each|[wp][: ]|webhook_progress: )/.test(step))).toEqual([])
    expect(
      [...steps].filter((step) => /^(?:AUTOMATIC|USE TEMP B-TREE(?! FOR ORDER BY:\s+SELECT\s+w\.id))/.test(step)),
    ).toEqual([])
    expect([...steps].filter((step) => step.startsWith('SEARCH webhook_waiting'))).not.toEqual([])
  }
  raw.close()
})
