/** What sort of refusal it is. `http/error-handler.ts` turns it into a status, `cli/` into an exit status. */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'missing'
  | 'method'
  | 'timeout'
  | 'conflict'
  | 'unprocessable'
  | 'throttled'
  | 'too-large'
  | 'unsupported'
  | 'headers-too-large'
  | 'unavailable'
  /** There is too much to do right now, which is no fault. */
  | 'overloaded'
  | 'internal'

/** One entry of a room's registry: `code` is stable, `message` is what the caller may read. */
export interface ErrorDefinition {
  readonly code: string
  readonly kind: ErrorKind
  readonly message: string
}

/** A place in what the caller sent (a JSON Pointer into the body, or `query/limit`), and what is wrong there. */
export interface Problem {
  readonly path: string
  readonly message: string
}

export interface ErrorDetails {
  /** For the log only: why, in words that must not reach the caller. Never a secret. */
  readonly reason?: string
  /** Replaces the registry's text where the value at fault has to be named. */
  readonly message?: string
  readonly problems?: readonly Problem[]
  /** When the caller may try again. */
  readonly retryAfterSeconds?: number
  readonly customerId?: string
  readonly cause?: unknown
}

/** Everything teslim refuses on purpose. Whatever else is thrown is a defect. */
export class AppError extends Error {
  readonly code: string
  readonly kind: ErrorKind
  readonly details: ErrorDetails

  constructor(definition: ErrorDefinition, details: ErrorDetails = {}) {
    super(details.message ?? definition.message, { cause: details.cause })
    this.name = 'AppError'
    this.code = definition.code
    this.kind = definition.kind
    this.details = details
  }
}
