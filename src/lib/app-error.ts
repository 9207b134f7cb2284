import { type PlainCode, type Text, textOf } from './messages/message.ts'

/** The kind of a refusal. `http/error-handler.ts` turns it into a status, `cli/` into an exit status. */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'missing'
  | 'method'
  | 'timeout'
  | 'conflict'
  | 'gone'
  | 'unprocessable'
  | 'throttled'
  | 'too-large'
  | 'unsupported'
  | 'headers-too-large'
  | 'unavailable'
  /** Too much load right now; not a fault. */
  | 'overloaded'
  | 'internal'

/** What a refusal is about, for alerts. Each code belongs to one class, whatever its kinds. */
export type ErrorClass = 'credentials' | 'rights' | 'request' | 'limit' | 'service'

const CLASSES: Partial<Record<ErrorKind, ErrorClass>> = {
  unauthenticated: 'credentials',
  forbidden: 'rights',
  throttled: 'limit',
  unavailable: 'service',
  overloaded: 'service',
  internal: 'service',
}

/** The parts of an error that the metrics count. */
export type Countable = Pick<ErrorDefinition, 'code' | 'kind' | 'class'>

export const classOf = ({ kind, class: own = CLASSES[kind] ?? 'request' }: Countable): ErrorClass => own

/** One entry of a module's registry: `code` is stable, `message` is for the caller. */
export interface ErrorDefinition {
  readonly code: string
  readonly kind: ErrorKind
  readonly message: Text
  /** If it is not that of its kind. */
  readonly class?: ErrorClass | undefined
  /** The place in the request that it is about, if a route says so. */
  readonly path?: string
}

/** Says of refusals of a route which place in its requests they are about. */
export const at = (path: string, ...definitions: readonly ErrorDefinition[]): ErrorDefinition[] =>
  definitions.map((definition) => ({ ...definition, path }))

/** Defines a refusal. Its message stands under its code, unless another is named. */
export const refusal = (code: PlainCode, kind: ErrorKind, named = code): ErrorDefinition => ({
  code,
  kind,
  message: { code: named, values: {} },
})

/** A place in what the caller sent (a JSON Pointer into the body, or `query/limit`), and what is wrong there. */
export interface Problem {
  readonly path: string
  readonly message: Text
}

interface ErrorDetails {
  /** The cause, for the log and never for the caller. Never a secret. */
  readonly reason?: Text
  /** Replaces the registry's message, to name the wrong value. */
  readonly message?: Text
  readonly problems?: readonly Problem[]
  /** When the caller may try again. */
  readonly retryAfterSeconds?: number
  readonly customerId?: string
  /** The API key that was sent, if it is known but not accepted. */
  readonly keyId?: string
  /** The action of the audit log that this refusal is recorded as, on a route that records none of its kind. */
  readonly recordedAs?: 'operator.refused'
  readonly cause?: unknown
}

/** An intended refusal. Any other error is a defect. */
export class AppError extends Error {
  readonly code: string
  readonly kind: ErrorKind
  readonly class: ErrorClass | undefined
  /** The message as it is stored. */
  readonly text: Text
  readonly details: ErrorDetails

  constructor(definition: ErrorDefinition, details: ErrorDetails = {}) {
    const text = details.message ?? definition.message
    super(textOf(text), { cause: details.cause })
    this.name = 'AppError'
    this.text = text
    this.code = definition.code
    this.kind = definition.kind
    this.class = definition.class
    this.details = details
  }
}

export function refuse(definition: ErrorDefinition, message: Text): never {
  throw new AppError(definition, { message })
}

/** For a `catch`: says in other words what was refused with this code. */
export const inOtherWords =
  (definition: ErrorDefinition, message: string) =>
  (error: unknown): never => {
    throw error instanceof AppError && error.code === definition.code ? new AppError(definition, { message }) : error
  }

/** Says for operators why something failed. */
export const whyFailed = (error: unknown): Text =>
  error instanceof AppError ? (error.details.reason ?? error.text) : (error as Error).message

/** Says it in English. */
export const reasonOf = (error: unknown): string => textOf(whyFailed(error))
