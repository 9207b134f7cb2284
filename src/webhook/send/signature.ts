import { createHmac } from 'node:crypto'
import type { Random } from '#src/lib/random.ts'
import { VERSION } from '#src/lib/version.ts'

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

export type SignedHeaders = Readonly<
  Record<'content-type' | 'user-agent' | 'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>
>

export const generateSecret = (random: Random): string => PREFIX + random(SECRET_BYTES).toString('base64')

/** One signature, as it stands in `webhook-signature`. */
export function signatureOf(id: string, timestamp: string, body: Uint8Array, secret: string): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`
}

/** The headers of one attempt, as Standard Webhooks define them: one signature for each secret. */
export function signedHeaders(
  id: string,
  atSeconds: number,
  body: Uint8Array,
  secrets: readonly string[],
): SignedHeaders {
  const timestamp = String(atSeconds)
  return {
    'content-type': 'application/json',
    'user-agent': `teslim/${VERSION}`,
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => signatureOf(id, timestamp, body, secret)).join(' '),
  }
}
