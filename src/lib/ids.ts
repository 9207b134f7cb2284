import type { Random } from '#src/lib/random.ts'

/** UUID version 7 (RFC 9562): 48 bits of time, then 74 random ones. Sorts by the moment it was made. */
export function newId(nowMilliseconds: number, random: Random): string {
  const time = nowMilliseconds.toString(16).padStart(12, '0')
  const bytes = Buffer.from(random(10))
  bytes[0] = 0x70 | ((bytes[0] ?? 0) & 0x0f)
  bytes[2] = 0x80 | ((bytes[2] ?? 0) & 0x3f)
  const tail = bytes.toString('hex')
  return `${time.slice(0, 8)}-${time.slice(8)}-${tail.slice(0, 4)}-${tail.slice(4, 8)}-${tail.slice(8)}`
}
