import { timingSafeEqual } from 'node:crypto'
import { signatureOf } from './send/signature.ts'

const NAMES = ['webhook-id', 'webhook-timestamp', 'webhook-signature']

export interface Message {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The bytes as they came. */
  readonly body: Uint8Array
}

/** An old message may have been recorded by somebody else. */
const TOLERANCE_SECONDS = 300

/** Verifies a message as its receiver must. Returns why it cannot be trusted; undefined if it can. */
export function whyUnverified({ headers, body }: Message, secrets: readonly string[], now: number): string | undefined {
  const missing = NAMES.filter((name) => typeof headers[name] !== 'string' || headers[name] === '')
  if (missing.length > 0) return `missing header: ${missing.join(', ')}`
  const [id, timestamp, signatures] = NAMES.map((name) => headers[name] as string) as [string, string, string]
  if (!/^\d{1,15}$/.test(timestamp)) return 'bad timestamp: webhook-timestamp is not a number of seconds'
  const sent = signatures.split(' ').filter((each) => each.startsWith('v1,'))
  if (sent.length === 0) return 'bad signature: webhook-signature has none that begins with v1,'
  const expected = secrets.map((secret) => signatureOf(id, timestamp, body, secret))
  if (!expected.some((one) => sent.some((other) => isEqual(one, other))))
    return 'bad signature: the secret is another one, or the body, webhook-id or webhook-timestamp was changed on the way'
  const age = Math.floor(now / 1000) - Number(timestamp)
  if (age > TOLERANCE_SECONDS)
    return `old timestamp: it was signed ${age} seconds ago, of which ${TOLERANCE_SECONDS} are accepted`
  if (age < -TOLERANCE_SECONDS)
    return `timestamp in the future: it was signed ${-age} seconds from now, so a clock is wrong`
  return undefined
}

function isEqual(one: string, other: string): boolean {
  const [bytes, others] = [Buffer.from(one), Buffer.from(other)]
  return bytes.length === others.length && timingSafeEqual(bytes, others)
}
