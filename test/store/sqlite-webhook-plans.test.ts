import { expect, it } from 'vitest'
import { webhookStore } from '#src/store/sql/webhooks/webhooks.ts'
import type { Database } from '#src/store/sqlite/database.ts'
import { boundNouns } from '#src/store/sqlite/nouns.ts'
import { plansOf } from '../support/sqlite-plans.ts'
import { webhook } from '../support/store-rows.ts'
import { ALL, attempt, confirmation, LONG, save, untried, waiting } from '../support/webhook-rows.ts'

const DELIVERIES = 20_000

/** 100 endpoints with 200 rows each that wait, a tenth of them set aside, a half failed; attempts, minutes, and journals. */
const FILL = `
  INSERT INTO customer (id, email, password_hash, is_api, scope, enabled, token_generation, created_at)
  SELECT 'c-' || n, 'c-' || n, '', 1, 'operator:read', 1, '', 0 FROM numbers WHERE n <= 100;
  INSERT INTO delivery (position, receipt, customer, status, received_at, payload)
  SELECT n, CAST(printf('%016d', n) AS BLOB), n % 100 + 1, 1, n, x'00' FROM numbers WHERE n <= ${DELIVERIES};
  INSERT INTO webhook (id, url, duplicates, created_at, secret, version) SELECT 'w-' || n, 'u', 1, n, 's', 1 FROM numbers WHERE n <= 100;
  INSERT INTO webhook_progress (webhook, position, waiting, failing, set_aside, removed, journal_bytes)
  SELECT id, ${DELIVERIES}, 180, 90, 20, 0, 65000 FROM webhook;
  INSERT INTO webhook_waiting (webhook, position, lane, failures, first_failed_at, next_at, set_aside_at, answered, replayed)
  SELECT 'w-' || (n % 100 + 1), n, n / 300, n / 100 % 2, CASE WHEN n / 100 % 2 THEN n END, CASE WHEN n / 100 % 3 = 0 AND n / 100 % 10 <> 0 THEN n END,
         CASE WHEN n / 100 % 10 = 0 THEN n END, n % 3 = 0, n % 7 = 0 FROM numbers WHERE n <= ${DELIVERIES};
  INSERT INTO webhook_confirmed (webhook, block, at, entries)
  SELECT 'w-' || (n % 100 + 1), n / 4096, n, x'000000c80005' FROM numbers WHERE n <= ${DELIVERIES};
  INSERT INTO webhook_attempt (webhook, at, position, customer, milliseconds) SELECT 'w-' || (n % 100 + 1), n, n % ${DELIVERIES}, n % 100 + 1, 1 FROM numbers;
  INSERT INTO webhook_minute (webhook, minute, succeeded, failed, longest) SELECT 'w-' || (n % 100 + 1), n / 100, 1, 1, 1 FROM numbers`

/** What the engine, operators and an erasure do. The times are as old as the rows, so that nothing expires, except at the end. */
async function useAll(database: Database): Promise<void> {
  const webhooks = webhookStore(boundNouns(database).webhooks as never)
  const held = (await webhooks.hold('a', LONG, ALL)).map(({ id }) => id).slice(0, 50)
  const minutes = [{ minute: 7, succeeded: 1, failed: 0, longestMilliseconds: 1 }]
  const progress = {
    position: DELIVERIES,
    kept: [waiting(3), untried(4)],
    settled: [3, 5, 6].map((position) => ({ position, lane: 0 })),
    confirmed: Array.from({ length: 200 }, (_, n) => confirmation(n)),
    attempts: [attempt({ at: 1, position: 5 })],
    minutes,
    hurry: true,
    gone: 1,
  }
  for (let times = 0; times < 8; times++)
    expect(
      await webhooks.save(
        'a',
        held.map((id) => save(id, progress)),
        0,
      ),
    ).toHaveLength(50)
  const [id = ''] = held
  const some = [9, 10].map((position) => ({ position, lane: 0 }))
  await webhooks.recordAttempt(id, attempt())
  expect((await webhooks.list()).length).toBeGreaterThan(98)
  expect(await webhooks.load(id)).toBeDefined()
  expect((await webhooks.due(id, DELIVERIES, 10)).deliveries).not.toEqual([])
  expect(await webhooks.held(id, some)).toHaveLength(2)
  expect(await webhooks.failing(id, ALL)).not.toEqual([])
  expect(await webhooks.oldestWaiting(id, 100)).toBeGreaterThan(0)
  expect(await webhooks.fates(id, [5, 6, 7, 5000])).not.toEqual(new Map())
  expect(await webhooks.attempts(id, 10)).toHaveLength(10)
  expect(await webhooks.minutes(id, 200)).not.toEqual([])
  expect(await webhooks.replay(id, some, 1)).toBeGreaterThan(0)
  expect(await webhooks.replay(id, 'set-aside', 1)).toBeGreaterThan(10)
  expect(await webhooks.giveUp('a', id, DELIVERIES, 1)).toBeGreaterThan(10)
  await webhooks.setReplay(id, { from: 0, until: 100, statuses: null, beganAt: 1 })
  expect(await webhooks.addReplayed('a', id, 1, { deliveries: some, position: 10 }, 1)).toBeGreaterThan(0)
  await webhooks.setReplay(id, null)
  await webhooks.change(id, { paused: null, secret: 's' })
  expect(await webhooks.rewrap([{ id, which: 'secret', from: 's', to: 's' }])).toBe(true)
  await webhooks.pauseAll('operator', 1, 'c-1')
  await webhooks.save('a', [save(id, { minutes, ifVersion: 9 })], 1)
  await webhooks.tidy(86_400_100)
  await webhooks.remove(id)
  const { id: added } = webhook()
  await webhooks.add(webhook({ id: added }))
  await webhooks.remove(added)
  database.ask('DELETE FROM webhook_attempt WHERE customer = $1', [1])
}

it('SQLite finds what belongs to an endpoint by an index, whether or not it has statistics', async () => {
  for await (const { plans } of plansOf({ fill: FILL, last: 30_000, readOnly: false }, useAll)) {
    const steps = Array.from(plans, ([sql, own]) => [...own].map((step) => `${step}: ${sql.trim()}`)).flat()
    // Every endpoint is looked at when all are listed, held or paused.
    expect(
      steps.filter((step) => /^SCAN (?!json_each|CONSTANT|looked|[vw]\b|webhook: |webhook_progress: )/.test(step)),
    ).toEqual([])
    expect(steps.filter((step) => /^SCAN w\b/.test(step) && !/^SCAN w:\s+SELECT\s+w\.id/.test(step))).toEqual([])
    expect(
      steps.filter((step) => /^(?:AUTOMATIC|USE TEMP B-TREE(?! FOR ORDER BY:\s+SELECT\s+(?:w\.)?id))/.test(step)),
    ).toEqual([])
    // All rows of an endpoint are looked at only to remove some of them, or where they are no more than what is asked for.
    const whole = steps.filter(
      (step) => /^SEARCH (?![pr] ).* \(webhook=\?\):/.test(step) && / webhook_waiting /.test(step),
    )
    const bounded =
      /USING (?:COVERING )?INDEX webhook_waiting_(?:set_aside|due|replayed) |DELETE FROM webhook_waiting|ORDER BY position LIMIT \$2/
    expect(whole.filter((step) => !bounded.test(step))).toEqual([])
    expect(steps.filter((step) => step.startsWith('SEARCH f USING INDEX webhook_waiting_lane'))).not.toEqual([])
  }
})
