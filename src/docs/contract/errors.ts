import { STATUS } from '#src/http/error-handler.ts'
import { httpErrors } from '#src/http/http.errors.ts'
import type { ErrorDefinition } from '#src/lib/app-error.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { tokenErrors } from '#src/token/token.errors.ts'

type Registry = Readonly<Record<string, ErrorDefinition>>

/** Every registry by the name of its module; that of a tag is the default of its routes. */
export type Registries = Readonly<Record<string, Registry>>

/** The schema of a route. `errors`, `bodyExamples`, `alsoAnswers`, `isTagged`, `isLimited` and `security` are for the contract only. */
export interface RouteSchema {
  readonly operationId?: string
  readonly summary?: string
  readonly description?: string
  /** Whether it is left out. */
  readonly hide?: boolean
  readonly tags?: readonly string[]
  readonly security?: readonly Record<string, readonly string[]>[]
  readonly consumes?: readonly string[]
  readonly body?: object
  readonly querystring?: object
  readonly params?: object
  readonly headers?: object
  readonly response?: Readonly<Record<string, unknown>>
  /** Errors of the route at the statuses it declares: registries, or codes of other modules. Default: those of its tag's module. */
  readonly errors?: readonly (Registry | string)[]
  readonly bodyExamples?: Readonly<Record<string, { summary: string; value: unknown }>>
  /** Whether the answer may have an ETag. */
  readonly isTagged?: boolean
  /** Whether the answer tells the allowance of the API key. */
  readonly isLimited?: boolean
  /** Other media types than JSON that a success may have, by status. */
  readonly alsoAnswers?: Readonly<Record<string, Readonly<Record<string, { readonly schema: object }>>>>
}

export interface RegisteredRoute {
  readonly method: string
  readonly url: string
  readonly schema: RouteSchema
}

const always = (): boolean => true
const never = (): boolean => false
const withBody = ({ body }: RouteSchema): boolean => body !== undefined
const withToken = (route: RouteSchema): boolean => securityOf(route).some((scheme) => 'bearer' in scheme)
const validated = ({ body, querystring, params, headers }: RouteSchema): boolean =>
  [body, querystring, params, headers].some((schema) => schema !== undefined)

/** Which routes can answer each error of `http/`. An error not named here: the routes that declare its status. */
const CONCERNS: Partial<Record<keyof typeof httpErrors, (route: RouteSchema) => boolean>> = {
  badRequest: always,
  hostCount: always,
  hostMalformed: always,
  httpVersion: always,
  transferEncoding: always,
  expectation: always,
  requestTimeout: always,
  connectionsOverloaded: always,
  contentEncoding: always,
  headersTooLarge: always,
  internal: always,
  methodNotAllowed: always,
  invalidRequest: validated,
  bodyMissing: withBody,
  bodyNotUtf8: withBody,
  bodyNotJson: withBody,
  bodyTooDeep: withBody,
  forbiddenKey: withBody,
  bodyTooLarge: withBody,
  bodiesOverloaded: withBody,
  answersOverloaded: ({ body }) => body === undefined,
  notJsonType: ({ consumes }) => consumes?.includes('application/json') === true,
  tokenMissing: withToken,
  notBearer: withToken,
  // Answers to addresses that are in no operation.
  notFound: never,
  noTunnel: never,
  // Only the readiness check answers this.
  stopping: never,
}

/** Errors of the store that callers can get: the others end a start or a server. */
const {
  cannotOpen: _cannotOpen,
  foreign: _foreign,
  newer: _newer,
  otherSchema: _otherSchema,
  gone: _gone,
  inUse: _inUse,
  missing,
  empty,
  older: _older,
  forbidden: _forbidden,
  ...storeAnswers
} = storeErrors

/** Answers to any request, as long as there is no store or no customer. */
const withoutStore = [missing, empty]

const { malformed: _malformed, expired: _expired, revoked: _revoked, ...forgedTokens } = tokenErrors

/** Errors that a working client hardly ever gets; the reference page folds them. */
export const RARE_CODES: ReadonlySet<string> = new Set([
  ...Object.entries(httpErrors)
    .filter(([name]) => CONCERNS[name as keyof typeof httpErrors] === always)
    .map(([, { code }]) => code),
  ...withoutStore.map(({ code }) => code),
  ...[httpErrors.bodyNotUtf8, httpErrors.bodyTooDeep, httpErrors.forbiddenKey].map(({ code }) => code),
  ...Object.values(forgedTokens).map(({ code }) => code),
])

/** Credentials of a route: as it says, else a token if it can answer 401. */
export const securityOf = ({ security, response = {} }: RouteSchema) =>
  security ?? ('401' in response ? [{ bearer: [] }] : [])

/** Every error that a route can answer, by status. */
export function refusalsOf(route: RouteSchema, registries: Registries): Map<number, ErrorDefinition[]> {
  const declared = new Set(Object.keys(route.response ?? {}).map(Number))
  const isDeclared = ({ kind }: ErrorDefinition): boolean => declared.has(STATUS[kind])
  const own = route.errors ?? [registries[route.tags?.[0]?.toLowerCase() ?? ''] ?? {}]
  const shared = Object.entries(httpErrors as Registry)
    .map(([name, definition]) => ({ definition, concerns: CONCERNS[name as keyof typeof httpErrors] }))
    .filter(({ definition, concerns }) => concerns?.(route) ?? isDeclared(definition))
  // The likeliest first: the route's own, then those that any request may get.
  const special = shared.filter(({ concerns }) => concerns !== always)
  const general = shared.filter(({ concerns }) => concerns === always)
  const definitions = [
    ...own.flatMap((named) => definitionsOf(named, registries)).filter(isDeclared),
    ...special.map(({ definition }) => definition),
    ...(withToken(route) ? Object.values(tokenErrors) : []),
    ...Object.values(storeAnswers).filter(isDeclared),
    ...general.map(({ definition }) => definition),
    ...withoutStore,
  ]
  const byStatus = Map.groupBy(definitions, ({ kind }) => STATUS[kind])
  const sorted = [...byStatus].sort(([first], [second]) => first - second)
  return new Map(sorted.map(([status, some]) => [status, withoutRepeats(some)]))
}

function definitionsOf(named: Registry | string, registries: Registries): ErrorDefinition[] {
  if (typeof named !== 'string') return Object.values(named)
  const all = Object.values(registries).flatMap((registry) => Object.values(registry))
  const found = all.find(({ code }) => code === named)
  if (found === undefined) throw new Error(`ERRORS in src/app.ts has no error ${named}`)
  return [found]
}

const withoutRepeats = (definitions: readonly ErrorDefinition[]): ErrorDefinition[] =>
  definitions.filter(({ code }, index) => definitions.findIndex((other) => other.code === code) === index)
