import { createHmac } from 'node:crypto'
import type { Random } from '#src/lib/random.ts'
import { VERSION } from '#src/lib/version.ts'

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

export type SignedHeaders = Readonly<
  Record<'content-type' | 'user-agent' | 'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>
>

export const generateSecret = (random: Random): string => PREFIX + random(SECRET_BYTES).toString('base64')

/** The headers of one attempt, as Standard Webhooks define them: one signature for each secret. */
export function signedHeaders(
  id: string,
  atSeconds: number,
  body: Uint8Array,
  secrets: readonly string[],
): SignedHeaders {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${atSeconds}.`).update(body).digest('base64')}`
  })
  return {
    'content-type': 'application/json',
    'user-agent': `teslim/${VERSION}`,
    'webhook-id': id,
    'webhook-timestamp': String(atSeconds),
    'webhook-signature': signatures.join(' '),
  }
}
