import type { Row } from './work.ts'

/** What one transaction may take: large payloads have many pages. */
const MAX_BYTES = 4 * 1024 * 1024

/** Returns the first rows whose payloads have so many bytes together, and at least one. */
export function withinBytes(rows: readonly Row[], most = MAX_BYTES, sizeOf = (bytes: number) => bytes): readonly Row[] {
  let sum = 0
  const beyond = rows.findIndex(({ bytes }, index) => {
    sum += sizeOf(bytes as number)
    return index > 0 && sum > most
  })
  return beyond < 0 ? rows : rows.slice(0, beyond)
}
