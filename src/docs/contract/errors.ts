import { STATUS } from '#src/http/error-handler.ts'
import { httpErrors } from '#src/http/http.errors.ts'
import type { ErrorDefinition } from '#src/lib/app-error.ts'
import { requestErrors } from '#src/lib/request/request.errors.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { tokenErrors } from '#src/token/token.errors.ts'

/** What a route says for the contract only. */
interface ContractSchema {
  readonly operationId?: string
  readonly summary?: string
  readonly description?: string
  /** Whether it is left out. */
  readonly hide?: boolean
  readonly tags?: readonly string[]
  readonly security?: readonly Record<string, readonly string[]>[]
  readonly consumes?: readonly string[]
  /** What it refuses by itself. Errors that follow from its credentials, its schemas and the store are added. */
  readonly errors?: readonly ErrorDefinition[]
  /** Whether it reads nothing from the store. */
  readonly isStoreless?: boolean
  readonly bodyExamples?: Readonly<Record<string, { summary: string; value: unknown }>>
  /** Whether the answer may have an ETag. */
  readonly isTagged?: boolean
  /** Whether the answer tells the allowance of the API key. */
  readonly isLimited?: boolean
  /** Other media types than JSON that a success may have, by status. */
  readonly alsoAnswers?: Readonly<Record<string, Readonly<Record<string, { readonly schema: object }>>>>
}

declare module 'fastify' {
  interface FastifySchema extends ContractSchema {}
}

/** The schema of a route. */
export interface RouteSchema extends ContractSchema {
  readonly body?: object
  readonly querystring?: object
  readonly params?: object
  readonly headers?: object
  /** Successes by status. */
  readonly response?: Readonly<Record<string, unknown>>
}

export interface RegisteredRoute {
  readonly method: string
  readonly url: string
  readonly schema: RouteSchema
}

type Concerns = (route: RouteSchema) => boolean

const accepts =
  (...schemes: string[]): Concerns =>
  ({ security = [] }) =>
    security.some((alternative) => schemes.every((scheme) => scheme in alternative))
const hasBody: Concerns = ({ body }) => body !== undefined
const hasNoBody: Concerns = ({ body }) => body === undefined
const takesJson: Concerns = ({ consumes = [] }) => consumes.includes('application/json')
const isValidated: Concerns = ({ body, querystring, params, headers }) =>
  [body, querystring, params, headers].some((schema) => schema !== undefined)
const asksStore: Concerns = ({ isStoreless = false }) => !isStoreless

/** What requests to any address can get. */
const ANY: readonly ErrorDefinition[] = [
  httpErrors.badRequest,
  httpErrors.hostCount,
  httpErrors.hostMalformed,
  httpErrors.httpVersion,
  httpErrors.transferEncoding,
  httpErrors.expectation,
  httpErrors.methodNotAllowed,
  httpErrors.requestTimeout,
  httpErrors.connectionsOverloaded,
  httpErrors.contentEncoding,
  httpErrors.headersTooLarge,
  httpErrors.internal,
  // As long as there is no store, or no customer.
  storeErrors.missing,
  storeErrors.empty,
]

const { invalidRequest, ...bodyErrors } = requestErrors

/** What routes can answer besides their own errors, the likeliest first. */
const SHARED: readonly (readonly [Concerns, ...ErrorDefinition[]])[] = [
  [accepts('ApiKey'), purchaseErrors.keyMissing, purchaseErrors.keyInvalid],
  [accepts('ApiKey', 'bearer'), purchaseErrors.tokenForeign],
  [hasBody, ...Object.values(bodyErrors), httpErrors.bodiesOverloaded],
  [isValidated, invalidRequest],
  [accepts('bearer'), httpErrors.tokenMissing, httpErrors.notBearer, ...Object.values(tokenErrors)],
  [takesJson, httpErrors.notJsonType],
  [hasNoBody, httpErrors.answersOverloaded],
  [() => true, httpErrors.overloaded],
  [asksStore, storeErrors.unavailable, storeErrors.overloaded],
  [() => true, ...ANY],
]

const { malformed: _malformed, expired: _expired, revoked: _revoked, ...forgedTokens } = tokenErrors

/** Errors that a working client hardly ever gets; the reference page folds them. */
export const RARE_CODES: ReadonlySet<string> = new Set(
  [
    ...ANY,
    requestErrors.bodyNotUtf8,
    requestErrors.bodyTooDeep,
    requestErrors.forbiddenKey,
    ...Object.values(forgedTokens),
  ].map(({ code }) => code),
)

/** Every error that a route can answer, by status. */
export function refusalsOf(route: RouteSchema): Map<number, ErrorDefinition[]> {
  const shared = SHARED.flatMap(([concerns, ...definitions]) => (concerns(route) ? definitions : []))
  const all = [...(route.errors ?? []), ...shared]
  const once = all.filter(({ code }, index) => all.findIndex((other) => other.code === code) === index)
  const byStatus = Map.groupBy(once, ({ kind }) => STATUS[kind])
  return new Map([...byStatus].sort(([first], [second]) => first - second))
}
