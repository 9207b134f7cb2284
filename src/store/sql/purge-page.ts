import type { Row, Work } from './work.ts'

/** What a page of deliveries has to remove or to overwrite. */
export interface Found {
  /** A list of what finds a delivery fastest: its position in a file, its receipt on PostgreSQL, where that tells the month. */
  readonly keys: string
  /** The last position looked at; that before the page at the end. */
  readonly last: number
}

export const foundFromRow = ({ keys, last }: Row, after: number): Found => ({
  keys: keys as string,
  last: Number(last ?? after),
})

/** What one transaction may take: large payloads have many pages. */
export const MAX_BYTES = 4 * 1024 * 1024

/** Looks at fewer deliveries, and at least one, while those that `find` has looked at have more bytes together. */
export function* lookWithinBytes(look: number, find: (look: number) => Work<Row | undefined>): Work<Row> {
  for (let fewer = look; ; ) {
    const row = (yield* find(fewer)) as Row
    const bytes = Number(row.total_bytes ?? 0)
    if (bytes <= MAX_BYTES || fewer === 1) return row
    fewer = Math.max(1, Math.floor((fewer * MAX_BYTES) / bytes))
  }
}
