import type { Random } from '#src/lib/random.ts'

/** UUID version 7 (RFC 9562): 48 bits of time, then 74 random ones. Sorts by the moment it was made. */
export function newId(nowMilliseconds: number, random: Random): string {
  const bytes = random(10)
  bytes[0] = 0x70 | ((bytes[0] ?? 0) & 0x0f)
  bytes[2] = 0x80 | ((bytes[2] ?? 0) & 0x3f)
  const tail = bytes.toString('hex')
  return `${timePart(nowMilliseconds)}-${tail.slice(0, 4)}-${tail.slice(4, 8)}-${tail.slice(8)}`
}

let lastMilliseconds = Number.NaN
let lastPart = ''

/** Under load many ids are made in the same millisecond. */
function timePart(milliseconds: number): string {
  if (milliseconds !== lastMilliseconds) {
    const time = milliseconds.toString(16).padStart(12, '0')
    lastPart = `${time.slice(0, 8)}-${time.slice(8)}`
    lastMilliseconds = milliseconds
  }
  return lastPart
}
