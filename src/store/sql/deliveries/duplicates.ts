import { hash } from 'node:crypto'
import type { ErrorDefinition } from '#src/lib/app-error.ts'
import { customerErased, storeErrors } from '../../store.errors.ts'

/** Half of a SHA-256. Taken from hexadecimal digits, because Node allocates the bytes of a hash outside of its heap. */
export const digestOf = (payload: Uint8Array): Buffer => Buffer.from(hash('sha256', payload, 'hex').slice(0, 32), 'hex')

export type Refused = 'erased' | 'key-reused'

/** Why a delivery is neither stored nor a duplicate. */
export const REFUSALS: Readonly<Record<Refused, ErrorDefinition>> = {
  erased: customerErased,
  'key-reused': storeErrors.idempotencyKeyReused,
}
