import type { Confirmation, Fate, WebhookStore } from '../../store.ts'
import type { Dialect } from '../dialect.ts'
import { all, get, type Noun, type Row, snapshot, type Work } from '../work.ts'
import { WAITING, waitingFromRow } from './rows.ts'

export const JOURNAL_BLOCK = 4096
const ENTRY_BYTES = 6
const HIGHEST = 0xffff
/** What a row takes besides its entries, with its indexes, in either database. */
const ROW_BYTES = 200

const KEPT_MILLISECONDS = 7 * 86_400_000
const MAX_BYTES = 64 * 1024 * 1024
/** Each time that so much was added, some that are too old go. */
const TRIM_EVERY_BYTES = 64 * 1024
/** More rows than so many bytes can be. */
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

const TRIM = `
  DELETE FROM webhook_confirmed
   WHERE (webhook, block, at) IN (
     SELECT webhook, block, at FROM webhook_confirmed
      WHERE webhook = $1 AND at < $2 AND block < $3 ORDER BY at LIMIT ${TRIMMED_AT_ONCE})
  RETURNING octet_length(entries) AS bytes`

const FROM_BLOCK = 'SELECT block, at, entries FROM webhook_confirmed WHERE webhook = $1 AND block >= $2'

/** The positions after a place that are confirmed. */
export function* confirmedAfter(id: string, place: number): Work<number[]> {
  const found = new Set<number>()
  for (const row of yield* all(FROM_BLOCK, id, blockOf(place)))
    for (const { position } of entriesOf(row)) if (position > place) found.add(position)
  return [...found].sort((one, other) => one - other)
}

export interface Journalled {
  readonly id: string
  readonly position: number
  readonly confirmed: readonly Confirmation[]
}

export const journal = ({ batch, pick }: Dialect) => {
  /** Compares rows, so that PostgreSQL does not take the index by time. */
  const SOON_AFTER = pick({
    sqlite: 'c.webhook = v.webhook AND c.block = v.block AND c.at >= v.at AND c.at < v.at + 60000',
    postgres:
      '(c.webhook, c.block, c.at) >= (v.webhook, v.block, v.at) AND (c.webhook, c.block, c.at) < (v.webhook, v.block, v.at + 60000)',
  })
  /** Its time is that of the save, or a little later if there is a row of that time. */
  const add = batch(
    'webhook text, block bigint, at bigint, entries bytea',
    (v) => `
      INSERT INTO webhook_confirmed (webhook, block, at, entries)
      SELECT v.webhook, v.block, coalesce((
               SELECT c.at + 1 FROM webhook_confirmed c
                WHERE ${SOON_AFTER} ORDER BY c.webhook DESC, c.block DESC, c.at DESC LIMIT 1), v.at), v.entries
        FROM ${v}`,
  )

  function* trim({ id, position }: Journalled, before: number): Work<number> {
    const rows = yield* all(TRIM, id, before, blockOf(position))
    return rows.reduce((sum, { bytes }) => sum + Number(bytes) + ROW_BYTES, 0)
  }

  /** Adds what was confirmed, removes what is too old or too much, and returns how many bytes each journal takes now. */
  return function* (saves: readonly Journalled[], sizes: ReadonlyMap<string, number>, now: number): Work<number[]> {
    const rows = saves.map(({ id, confirmed }) =>
      Array.from(
        Map.groupBy(confirmed, ({ position }) => blockOf(position)),
        ([block, some]) => [id, block, now, packed(some)] as const,
      ),
    )
    yield* add(rows.flat())
    const after: number[] = []
    for (const [index, save] of saves.entries()) {
      const before = sizes.get(save.id) ?? 0
      let size = (rows[index] ?? []).reduce((sum, row) => sum + row[3].byteLength + ROW_BYTES, before)
      if (size > MAX_BYTES) size -= yield* trim(save, Number.MAX_SAFE_INTEGER)
      else if (Math.floor(size / TRIM_EVERY_BYTES) > Math.floor(before / TRIM_EVERY_BYTES))
        size -= yield* trim(save, now - KEPT_MILLISECONDS)
      after.push(Math.max(0, size))
    }
    return after
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
