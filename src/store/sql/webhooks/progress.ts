import type { WebhookStore } from '../../store.ts'
import type { Dialect } from '../dialect.ts'
import { get, type Noun, progress, run, snapshot } from '../work.ts'
import { attemptRows } from './attempts.ts'
import { confirmedAfter, journal } from './journal.ts'
import { lockProgress } from './leases.ts'
import { WEBHOOKS, webhookFromRow, whole } from './rows.ts'
import { waitingRows } from './waiting.ts'

const FIND = `${WEBHOOKS} WHERE w.id = $1`

const PROGRESS = 'webhook text, position bigint, last_success_at bigint, silent_until bigint, journal_bytes bigint'

const ADVANCE = (v: string): string => `
  UPDATE webhook_progress AS p
     SET position = v.position, last_success_at = coalesce(v.last_success_at, p.last_success_at),
         silent_until = v.silent_until, journal_bytes = v.journal_bytes
    FROM ${v} WHERE p.webhook = v.webhook`

/** How far endpoints have come: what their holder stores many times a second, and what it begins with. */
export const progressOf = (dialect: Dialect): Noun<Pick<WebhookStore, 'save' | 'load'>> => {
  const { batch, oneOf, among, forUpdate } = dialect
  const lock = lockProgress(dialect)
  const waiting = waitingRows(dialect)
  const attempts = attemptRows(dialect)
  const addToJournal = journal(dialect)
  const advance = batch(PROGRESS, ADVANCE)
  const PAUSE_GONE = `
    UPDATE webhook SET paused_reason = 'gone', paused_at = $2
     WHERE id ${oneOf(`SELECT id FROM webhook WHERE id ${among('$1')} AND paused_at IS NULL ORDER BY id ${forUpdate}`)}`

  return {
    save: progress(function* (holder, all, now) {
      const held = yield* lock.held(
        holder,
        all.map(({ id }) => id),
      )
      const sizes = new Map(held.map((row) => [row.id as string, row.journal_bytes as number]))
      const saves = all.filter(({ id }) => sizes.has(id)).sort((one, other) => (one.id < other.id ? -1 : 1))
      const kept = saves.flatMap(({ id, kept }) => kept.map((each) => ({ ...each, id })))
      const settled = saves.flatMap(({ id, settled }) => settled.map((each) => ({ ...each, id })))
      if (kept.length + settled.length > 0) yield* waiting.store(kept, settled, now)
      yield* waiting.hurry(saves.filter(({ hurry }) => hurry).map(({ id }) => [id, now]))
      yield* attempts.store(saves, now)
      const bytes = yield* addToJournal(saves, sizes, now)
      const gone = saves.filter(({ gone }) => gone).map(({ id }) => id)
      if (gone.length > 0) yield* run(PAUSE_GONE, gone, now)
      yield* advance(
        saves.map(({ id, position, lastSuccessAt, silentUntil }, index) => [
          id,
          position,
          whole(lastSuccessAt),
          whole(silentUntil),
          bytes[index] ?? 0,
        ]),
      )
      return saves.map(({ id }) => id)
    }),
    load: snapshot(function* (id) {
      const row = yield* get(FIND, id)
      if (row === undefined) return undefined
      const webhook = webhookFromRow(row)
      return { webhook, confirmed: yield* confirmedAfter(id, webhook.position) }
    }),
  }
}
