import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { createStoreWith } from '../support/store/create-store.ts'
import { plansOfPrepared } from '../support/store/sqlite-plans.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { fillAll, SQLITE } from './plans/filled.ts'
import { ALL_PARTS, useUnsentPurge, watched } from './plans/uses.ts'

const folder = tempFolder()
const filled = join(folder, 'filled.db')
await createStoreWith(`sqlite:${filled}`, [])
const raw = new DatabaseSync(filled)
raw.exec(fillAll(SQLITE))

const LARGE =
  '(?:delivery|order_state|idempotency|delivery_block|block_customers|span_customers|delivery_hour|refusal_hour|audit_event|refused_delivery|login_failure|customer|customer_region|authority_rule|api_key|api_key_use|webhook_waiting|webhook_confirmed|webhook_attempt|webhook_minute)'

/** The steps that read a whole table of those. A part of the statement may have the name that the table has in it. */
function wholeReads(sql: string, steps: readonly string[]): string[] {
  const scans = Map.groupBy(
    steps.filter((step) => step.startsWith('SCAN ')),
    (step) => step.split(' ')[1] ?? '',
  )
  return Array.from(scans, ([name, all]) => {
    const isLarge = new RegExp(`^${LARGE}$`).test(name) || new RegExp(`\\b${LARGE}(?: AS)? ${name}\\b`).test(sql)
    const parts = sql.match(new RegExp(`(?:\\)|\\bchain) ${name}\\b`, 'g'))?.length ?? 0
    return isLarge ? all.slice(parts) : []
  }).flat()
}

/** The list of all keys, and what a metric counts, once in a while; the oldest bodies, up to those that must go; keys up to a limit. */
const WHOLE =
  /^(?:SELECT k\.id AS key_id(?!.* WHERE )|DELETE FROM idempotency WHERE number IN|SELECT count\(\*\) AS count FROM api_key k|SELECT bytes, removed, not_kept|DELETE FROM refused_delivery WHERE number IN)/

/** A page of rows, or few, are sorted. */
const SORTED =
  /^(?:INSERT INTO|DELETE FROM refused_delivery|WITH RECURSIVE (?:wanted|chain)|SELECT (?:f\.refusal|kid|w\.id|(?:min|max)\(position|CASE WHEN received_at|customer_id, max|customer, received_at|hour))/

/** Of an endpoint all rows are looked at only to remove some of them, or where they are no more than what is asked for. */
const OF_ENDPOINT =
  /USING (?:COVERING )?INDEX webhook_waiting_(?:set_aside|due|replayed) |DELETE FROM webhook_waiting|ORDER BY (?:q\.)?position LIMIT (?:\$2|\?|1)/

/** Where another index would do as well for SQLite, but not for whoever has many refusals, or few. */
const CHOSEN = [
  'audit_event USING COVERING INDEX audit_event_refusal (customer_id=? AND refusal>? AND refusal<?)',
  'audit_event USING INDEX audit_event_at (at>? AND at<?)',
  'audit_event USING INDEX audit_event_customer (customer_id=? AND at>? AND at<?)',
  'audit_event USING INDEX audit_event_request (request_id=? AND at>? AND at<?)',
  'refused_delivery USING COVERING INDEX refused_delivery_customer (customer_id=? AND refusal>? AND refusal<?)',
  'audit_event USING COVERING INDEX audit_event_refused (refusal>? AND refusal<?)',
  'refused_delivery USING COVERING INDEX sqlite_autoindex_refused_delivery_1 (refusal>? AND refusal<?)',
  'audit_event USING COVERING INDEX audit_event_order (order_key=? AND refusal>? AND refusal<?)',
  'audit_event USING COVERING INDEX audit_event_order_customer (order_key=? AND customer_id=? AND refusal>? AND refusal<?)',
  'refused_delivery USING COVERING INDEX refused_delivery_order (order_key=? AND refusal>? AND refusal<?)',
  'refused_delivery USING COVERING INDEX refused_delivery_order_customer (order_key=? AND customer_id=? AND refusal>? AND refusal<?)',
  'a USING INDEX audit_event_refused (refusal=?)',
  'r USING INDEX sqlite_autoindex_refused_delivery_1 (refusal=?)',
  'delivery USING INDEX delivery_receipt (receipt>?)',
  'idempotency USING INDEX sqlite_autoindex_idempotency_1 (customer=? AND key=?)',
  's USING PRIMARY KEY (customer=? AND order_id=?)',
  'l USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
  'f USING INDEX webhook_waiting_lane',
  'delivery_hour USING PRIMARY KEY (customer=? AND hour>? AND hour<?)',
  'refusal_hour USING PRIMARY KEY (customer=? AND hour>? AND hour<?)',
]

it.each([
  ['without', false],
  ['with', true],
])('SQLite finds everything by an index, %s statistics', async (_, statistics) => {
  if (statistics) raw.exec('ANALYZE')
  raw.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const path = join(folder, `${statistics}.db`)
  copyFileSync(filled, path)
  const plans = plansOfPrepared()
  const { store } = await openStore(loadConfig({ DATABASE_URL: `sqlite:${path}` }).config, 0, { withoutThreads: true })
  const { watchedStore, unused } = watched(store)
  for (const part of [...ALL_PARTS, useUnsentPurge]) await part(watchedStore, async (_most, work) => work())
  await store.close()
  expect([...unused]).toEqual(['deliveries.drained', 'close'])

  const wasteful = Array.from(plans, ([sql, steps]) => [sql.replaceAll(/\s+/g, ' ').trim(), steps] as const).flatMap(
    ([sql, steps]) =>
      [
        ...(WHOLE.test(sql) ? [] : wholeReads(sql, steps)),
        ...steps.filter((step) => /AUTOMATIC/.test(step) || (/TEMP B-TREE/.test(step) && !SORTED.test(sql))),
        ...steps.filter(
          (step) => /^SEARCH (?![pr] ).* \(webhook=\?\)$/.test(step) && sql.includes(' webhook_waiting '),
        ),
      ]
        .map((step) => `${step}: ${sql}`)
        .filter((each) => !each.includes('(webhook=?)') || !OF_ENDPOINT.test(each)),
  )
  expect(wasteful).toEqual([])
  const all = [...plans.values()].flat()
  expect(CHOSEN.filter((search) => !all.some((step) => step.startsWith(`SEARCH ${search}`)))).toEqual([])
  // A page of a purge looks up each order once.
  const pages = Array.from(plans).filter(([sql]) => sql.includes('rolled_up'))
  expect(pages.map(([, steps]) => steps.filter((step) => step.startsWith('SEARCH s ')).length)).toEqual([1])
})
