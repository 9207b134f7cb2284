import type { ErrorDefinition } from '#src/lib/app-error.ts'

export const storeErrors = {
  unavailable: {
    code: 'STORE_UNAVAILABLE',
    kind: 'unavailable',
    message: 'The service cannot reach its storage right now, so the request is not confirmed: send it again.',
  },
  /** Not sent to callers: the process ends. */
  gone: { code: 'STORE_GONE', kind: 'unavailable', message: 'The store is no longer the one that was opened.' },
  inUse: { code: 'STORE_IN_USE', kind: 'unavailable', message: 'Another server works on this store.' },
  overloaded: {
    code: 'STORE_OVERLOADED',
    kind: 'overloaded',
    message: 'The service has more to store than it can take right now. Nothing was stored; send the request again.',
  },
  idempotencyKeyReused: {
    code: 'IDEMPOTENCY_KEY_REUSED',
    kind: 'unprocessable',
    message: 'This Idempotency-Key was used with another body before. Nothing was stored.',
  },
  missing: {
    code: 'STORE_MISSING',
    kind: 'unavailable',
    message: 'The service has no storage right now. Nothing was stored; send the request again.',
  },
  /** In production only. */
  empty: {
    code: 'STORE_EMPTY',
    kind: 'unavailable',
    message: 'The service has no customers yet. Nothing was stored; send the request again.',
  },
  cannotOpen: { code: 'STORE_CANNOT_OPEN', kind: 'unavailable', message: 'The store cannot be opened.' },
  foreign: { code: 'STORE_FOREIGN', kind: 'unavailable', message: 'The file belongs to another application.' },
  forbidden: {
    code: 'STORE_FORBIDDEN',
    kind: 'unavailable',
    message:
      'The role of DATABASE_URL may not remove deliveries. Run this as the owner of the tables, or grant the role of deploy/postgres/service-role.sql what that file says about purging.',
  },
  older: { code: 'STORE_OLDER', kind: 'unavailable', message: 'The store was made by an older version of teslim.' },
  otherSchema: {
    code: 'STORE_OTHER_SCHEMA',
    kind: 'unavailable',
    message: 'The store was made by another version of teslim.',
  },
  newer: { code: 'STORE_NEWER', kind: 'unavailable', message: 'The store was made by a newer version of teslim.' },
} as const satisfies Record<string, ErrorDefinition>

/** Why a store cannot take a delivery whose statements do not fit its schema. */
export const OTHER_TABLES = 'its tables are not those of this version of teslim'

/** Not sent to callers. Its kind gives commands the exit status of a wrong setting, after which supervisors do not start them again. */
export const storeMoved: ErrorDefinition = {
  code: 'STORE_MOVED',
  kind: 'invalid',
  message: 'The store was moved to another database.',
}

/** The answer to a delivery of a customer that was erased while it was under way. */
export const customerErased: ErrorDefinition = {
  code: 'API_KEY_INVALID',
  kind: 'unauthenticated',
  message: 'The API key is not valid.',
}
