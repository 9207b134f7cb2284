import type { Confirmation, Fate, WebhookSave, WebhookStore } from '../../store.ts'
import { type Dialect, NO_LIMIT } from '../dialect.ts'
import { all, allAs, get, type Noun, progress, type Row, run, snapshot, type Work } from '../work.ts'
import { lockProgress } from './leases.ts'
import { WAITING, waitingFromRow } from './rows.ts'

export const JOURNAL_BLOCK = 4096
const ENTRY_BYTES = 6
const HIGHEST = 0xffff
/** What a row takes besides its entries, with its indexes, in either database. */
const ROW_BYTES = 200

const KEPT_MILLISECONDS = 7 * 86_400_000
const MAX_BYTES = 64 * 1024 * 1024
/** In one transaction, so that saves do not wait long. */
const TRIMMED_AT_ONCE = 1000

const blockOf = (position: number): number => Math.floor(position / JOURNAL_BLOCK)

/** Three numbers of 16 bits each: the place in the block, the status, and the milliseconds. */
function packed(confirmations: readonly Confirmation[]): Uint8Array {
  const bytes = Buffer.alloc(confirmations.length * ENTRY_BYTES)
  for (const [index, { position, status, milliseconds }] of confirmations.entries()) {
    const at = index * ENTRY_BYTES
    bytes.writeUInt16BE(position % JOURNAL_BLOCK, at)
    bytes.writeUInt16BE(status, at + 2)
    bytes.writeUInt16BE(Math.min(Math.round(milliseconds), HIGHEST), at + 4)
  }
  return bytes
}

/** Reads the confirmations of a row. */
export function* entriesOf({ block, entries }: Row): Generator<Confirmation> {
  const { buffer, byteOffset, byteLength } = entries as Uint8Array
  const bytes = new DataView(buffer, byteOffset, byteLength)
  for (let at = 0; at < byteLength; at += ENTRY_BYTES)
    yield {
      position: (block as number) * JOURNAL_BLOCK + bytes.getUint16(at),
      status: bytes.getUint16(at + 2),
      milliseconds: bytes.getUint16(at + 4),
    }
}

const FROM_BLOCK = 'SELECT block, at, entries FROM webhook_confirmed WHERE webhook = $1 AND block >= $2'

/** The positions after a place that are confirmed. */
export function* confirmedAfter(id: string, place: number): Work<number[]> {
  const found = new Set<number>()
  for (const row of yield* all(FROM_BLOCK, id, blockOf(place)))
    for (const { position } of entriesOf(row)) if (position > place) found.add(position)
  return [...found].sort((one, other) => one - other)
}

export const CONFIRMED = 'webhook text, block bigint, at bigint, entries bytea'

type Confirmed = Pick<WebhookSave, 'id' | 'confirmed'>

export const confirmedColumns = ({ id, confirmed }: Confirmed, now: number) =>
  Array.from(
    Map.groupBy(confirmed, ({ position }) => blockOf(position)),
    ([block, some]) => [id, block, now, packed(some)] as const,
  )

/** What they take in the journal. */
export const bytesOf = (save: Confirmed): number =>
  confirmedColumns(save, 0).reduce((sum, [, , , entries]) => sum + entries.byteLength + ROW_BYTES, 0)

/** Adds to the journal. Two saves in one millisecond share a row. */
export const confirming =
  ({ pick }: Dialect) =>
  (v: string): string =>
    `
      INSERT INTO webhook_confirmed AS kept (webhook, block, at, entries)
      SELECT v.webhook, v.block, v.at, v.entries FROM ${v} WHERE true
      ON CONFLICT (webhook, block, at) DO UPDATE
         SET entries = CAST(kept.entries || excluded.entries AS ${pick({ sqlite: 'BLOB', postgres: 'bytea' })})`

/** Endpoints whose journal has something that is to go. */
const OVERDUE = `
  SELECT webhook AS id FROM webhook_progress
   WHERE journal_bytes > ${MAX_BYTES}
      OR (SELECT c.at FROM webhook_confirmed c
           WHERE c.webhook = webhook_progress.webhook AND c.at < $1 AND c.block < webhook_progress.position / ${JOURNAL_BLOCK}
           ORDER BY c.at LIMIT 1) IS NOT NULL`

const OLD = (columns: string): string => `
  SELECT ${columns} FROM webhook_confirmed
   WHERE webhook = $1 AND at < $2 AND block < $3 ORDER BY at LIMIT ${TRIMMED_AT_ONCE}`

const SHRINK = `
  UPDATE webhook_progress SET journal_bytes = CASE WHEN journal_bytes > $2 THEN journal_bytes - $2 ELSE 0 END WHERE webhook = $1`

export interface JournalSteps {
  /** Resolves to the endpoints whose journal is to be trimmed. */
  overdue(now: number): Promise<string[]>
  /** Removes some of what is too old or too much, but nothing that a restart needs. Resolves to whether more may be left. */
  trim(id: string, now: number): Promise<boolean>
}

export const trimming = (dialect: Dialect): Noun<JournalSteps> => {
  const lock = lockProgress(dialect)
  const TRIM = `
    DELETE FROM webhook_confirmed WHERE ${dialect.rows('webhook, block, at', OLD)}
    RETURNING octet_length(entries) AS bytes`
  return {
    overdue: snapshot((now) => allAs(({ id }) => id as string, OVERDUE, now - KEPT_MILLISECONDS)),
    trim: progress(function* (id, now) {
      const [own] = yield* lock.these([id])
      if (own === undefined) return false
      const before = (own.journal_bytes as number) > MAX_BYTES ? NO_LIMIT : now - KEPT_MILLISECONDS
      const removed = yield* all(TRIM, id, before, blockOf(own.position as number))
      const bytes = removed.reduce((sum, row) => sum + Number(row.bytes) + ROW_BYTES, 0)
      if (bytes > 0) yield* run(SHRINK, id, bytes)
      return removed.length === TRIMMED_AT_ONCE
    }),
  }
}

const PLACE = 'SELECT position FROM webhook_progress WHERE webhook = $1'

export const fates = ({ batch, one }: Dialect): Noun<Pick<WebhookStore, 'fates'>> => {
  const kept = batch(
    'webhook text, position bigint',
    (v) => `
      SELECT ${WAITING} FROM ${v}
        ${one('webhook_waiting', 'w', 'w.webhook = v.webhook AND w.position = v.position')}`,
  )
  const blocks = batch(
    'webhook text, block bigint',
    (v) => `
      SELECT c.block, c.at, c.entries FROM ${v} CROSS JOIN webhook_confirmed c
       WHERE c.webhook = v.webhook AND c.block = v.block`,
  )
  return {
    fates: snapshot(function* (id, deliveries) {
      const place = Number((yield* get(PLACE, id))?.position ?? 0)
      const asked = new Set(deliveries)
      const found = new Map<number, Fate>()
      for (const position of asked) if (position > place) found.set(position, { state: 'unread' })
      const inBlocks = new Set(deliveries.map(blockOf))
      const rows = yield* blocks([...inBlocks].map((block) => [id, block]))
      for (const row of rows.toSorted((one, other) => (one.at as number) - (other.at as number)))
        for (const { position, ...how } of entriesOf(row))
          if (asked.has(position)) found.set(position, { state: 'confirmed', at: row.at as number, ...how })
      for (const row of yield* kept([...asked].map((position) => [id, position]))) {
        const delivery = waitingFromRow(row)
        found.set(delivery.position, { state: 'kept', delivery })
      }
      return found
    }),
  }
}
