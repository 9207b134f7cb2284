import type { WebhookSave, WebhookStore } from '../../store.ts'
import { arraysOf, type Dialect, tableOf } from '../dialect.ts'
import { all, change, get, type Noun, progress, type Row, run, snapshot, type Work } from '../work.ts'
import { attemptRows, COUNTED, countMinutes, minuteColumns } from './attempts.ts'
import { bytesOf, CONFIRMED, confirmedAfter, confirmedColumns, confirming } from './journal.ts'
import { HELD, lockProgress } from './leases.ts'
import { WEBHOOK_BY_ID, webhookFromRow, whole } from './rows.ts'
import { waitingRows } from './waiting.ts'

const PLACES = 'webhook text, position bigint, last_success_at bigint, silent_until bigint, journal_bytes bigint'

const ADVANCE = (v: string): string => `
  UPDATE webhook_progress AS p
     SET position = v.position, last_success_at = coalesce(v.last_success_at, p.last_success_at),
         silent_until = v.silent_until, journal_bytes = p.journal_bytes + v.journal_bytes
    FROM ${v} WHERE p.webhook = v.webhook`

type Save = WebhookStore['save']

export interface ProgressSteps extends Pick<WebhookStore, 'load'> {
  /** Does what `save` does if nothing failed, waited or is repeated. */
  advance: Save
  saveAll: Save
}

export const isPlain = ({ kept, settled, attempts, hurry, gone, ifVersion }: WebhookSave): boolean =>
  kept.length + settled.length + attempts.length === 0 && !hurry && gone === null && ifVersion === null

/** How far endpoints have come: what their holder stores many times a second, and what it begins with. */
export const progressOf = (dialect: Dialect): Noun<ProgressSteps> => {
  const { pick, batch, oneOf, among } = dialect
  const lock = lockProgress(dialect)
  const waiting = waitingRows(dialect)
  const { addAttempts } = attemptRows(dialect)
  const confirm = confirming(dialect)
  const count = countMinutes(dialect)
  const VERSIONS = `SELECT id, version FROM webhook WHERE id ${among('$1')}`
  const PAUSE_GONE = `
    UPDATE webhook SET paused_reason = 'gone', paused_at = $3 WHERE id = $1 AND version = $2 AND paused_at IS NULL`

  /** Locks the progress of those that the holder still holds, and stores their places, confirmations and counts. Returns their ids. */
  const store = pick<(holder: string, saves: readonly WebhookSave[], now: number) => Work<readonly Row[]>>({
    sqlite: (() => {
      const advance = batch(PLACES, (v) => `${ADVANCE(v)} RETURNING webhook AS id`)
      const [add, sum] = [batch(CONFIRMED, confirm), batch(COUNTED, count)]
      return function* (_holder, saves, now) {
        const stored = yield* advance(saves.map(placeColumns))
        const there = saves.filter(({ id }) => stored.some((row) => row.id === id))
        yield* add(there.flatMap((save) => confirmedColumns(save, now)))
        yield* sum(there.flatMap(minuteColumns))
        return stored
      }
    })(),
    postgres: (() => {
      const ofHeld = (columns: string, first: number): string =>
        `(SELECT * FROM ${tableOf(columns, first)} WHERE v.webhook ${oneOf('SELECT webhook FROM held')}) v`
      // One statement, so one round trip: an endpoint that takes everything is saved 60 times a second.
      const SAVE = `
        WITH held AS MATERIALIZED (
          SELECT webhook FROM webhook_progress WHERE ${HELD} AND webhook ${among('$2')} ORDER BY webhook FOR UPDATE),
        advanced AS (${ADVANCE(ofHeld(PLACES, 2))}),
        confirmed AS (${confirm(ofHeld(CONFIRMED, 7))}),
        counted AS (${count(ofHeld(COUNTED, 11))})
        SELECT webhook AS id FROM held`
      return (holder, saves, now) =>
        all(
          SAVE,
          holder,
          ...arraysOf(PLACES, saves.map(placeColumns)),
          ...arraysOf(
            CONFIRMED,
            saves.flatMap((save) => confirmedColumns(save, now)),
          ),
          ...arraysOf(COUNTED, saves.flatMap(minuteColumns)),
        )
    })(),
  })

  /** Those that no operator has changed since, where that matters. */
  function* unchanged(saves: readonly WebhookSave[]): Work<readonly WebhookSave[]> {
    if (saves.every(({ ifVersion }) => ifVersion === null)) return saves
    const ids = saves.map(({ id }) => id)
    yield* lock.these(ids)
    const versions = new Map((yield* all(VERSIONS, ids)).map(({ id, version }) => [id, version]))
    return saves.filter(({ id, ifVersion }) => ifVersion === null || versions.get(id) === ifVersion)
  }

  function* advance(...args: Parameters<Save>): Work<string[]> {
    return (yield* store(...args)).map(({ id }) => id as string)
  }

  return {
    advance: pick({ sqlite: progress(advance), postgres: change(advance) }),
    saveAll: progress(function* (holder, all, now) {
      const stored = new Set(yield* advance(holder, yield* unchanged(all), now))
      const saves = all.filter(({ id }) => stored.has(id))
      const kept = saves.flatMap(({ id, kept }) => kept.map((each) => ({ ...each, id })))
      const settled = saves.flatMap(({ id, settled }) => settled.map((each) => ({ ...each, id })))
      if (kept.length + settled.length > 0) yield* waiting.store(kept, settled, now)
      yield* waiting.hurry(saves.filter(({ hurry }) => hurry).map(({ id }) => [id, now]))
      yield* addAttempts(saves)
      // In one order, so that processes do not wait for each other in a circle.
      const gone = saves.filter(({ gone }) => gone !== null).sort((one, other) => (one.id < other.id ? -1 : 1))
      for (const { id, gone: version } of gone) yield* run(PAUSE_GONE, id, version, now)
      return [...stored]
    }),
    load: snapshot(function* (id) {
      const row = yield* get(WEBHOOK_BY_ID, id)
      if (row === undefined) return undefined
      const webhook = webhookFromRow(row)
      return { webhook, confirmed: yield* confirmedAfter(id, webhook.position) }
    }),
  }
}

const placeColumns = (save: WebhookSave) =>
  [save.id, save.position, whole(save.lastSuccessAt), whole(save.silentUntil), bytesOf(save)] as const
