import { refusal } from '#src/lib/app-error.ts'

export const storeErrors = {
  unavailable: refusal('STORE_UNAVAILABLE', 'unavailable'),
  /** Not sent to callers: the process ends. */
  gone: refusal('STORE_GONE', 'unavailable'),
  inUse: refusal('STORE_IN_USE', 'unavailable'),
  overloaded: refusal('STORE_OVERLOADED', 'overloaded'),
  idempotencyKeyReused: refusal('IDEMPOTENCY_KEY_REUSED', 'unprocessable'),
  missing: refusal('STORE_MISSING', 'unavailable'),
  /** In production only. */
  empty: refusal('STORE_EMPTY', 'unavailable'),
  cannotOpen: refusal('STORE_CANNOT_OPEN', 'unavailable'),
  foreign: refusal('STORE_FOREIGN', 'unavailable'),
  forbidden: refusal('STORE_FORBIDDEN', 'unavailable'),
  older: refusal('STORE_OLDER', 'unavailable'),
  otherSchema: refusal('STORE_OTHER_SCHEMA', 'unavailable'),
  newer: refusal('STORE_NEWER', 'unavailable'),
}

/** Why a store cannot take a delivery whose statements do not fit its schema. */
export const OTHER_TABLES = 'its tables are not those of this version of teslim'

/** Not sent to callers. Its kind gives commands the exit status of a wrong setting, after which supervisors do not start them again. */
export const storeMoved = refusal('STORE_MOVED', 'invalid')

/** The answer to a delivery of a customer that was erased while it was under way. */
export const customerErased = refusal('API_KEY_INVALID', 'unauthenticated')
