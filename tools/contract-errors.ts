import { globSync } from 'node:fs'
import { STATUS } from '#src/http/error-handler.ts'
import { httpErrors } from '#src/http/http.errors.ts'
import type { ErrorDefinition } from '#src/lib/app-error.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { tokenErrors } from '#src/token/token.errors.ts'

export type Registry = Readonly<Record<string, ErrorDefinition>>

/** What a route says of itself. `errors`, `bodyExamples`, `alsoAnswers` and `security` are for the contract only. */
export interface RouteSchema {
  readonly tags?: readonly string[]
  readonly security?: readonly Record<string, readonly string[]>[]
  readonly consumes?: readonly string[]
  readonly body?: object
  readonly querystring?: object
  readonly params?: object
  readonly headers?: object
  readonly response?: Readonly<Record<string, unknown>>
  /** What it may answer with, at the statuses that it declares: registries, or codes of other rooms. Else all of its room. */
  readonly errors?: readonly (Registry | string)[]
  readonly bodyExamples?: Readonly<Record<string, { summary: string; value: unknown }>>
  /** By status and media type, where a route answers with more than JSON. */
  readonly alsoAnswers?: Readonly<Record<string, Readonly<Record<string, { readonly schema: object }>>>>
}

const always = (): boolean => true
const never = (): boolean => false
const withBody = ({ body }: RouteSchema): boolean => body !== undefined
const withToken = (route: RouteSchema): boolean => securityOf(route).some((scheme) => 'bearer' in scheme)
const validated = ({ body, querystring, params, headers }: RouteSchema): boolean =>
  [body, querystring, params, headers].some((schema) => schema !== undefined)

/** Which routes the shell's refusals concern. One that is not named here: those that declare its status. */
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
  invalidRequest: validated,
  bodyMissing: withBody,
  bodyNotUtf8: withBody,
  bodyNotJson: withBody,
  bodyTooDeep: withBody,
  forbiddenKey: withBody,
  bodyTooLarge: withBody,
  bodiesOverloaded: withBody,
  notJsonType: ({ consumes }) => consumes !== undefined,
  tokenMissing: withToken,
  notBearer: withToken,
  // Of an address or a method that no operation has.
  notFound: never,
  methodNotAllowed: never,
  noTunnel: never,
  // Of operators' commands.
  certificateUnusable: never,
}

/** Of the store, but for what ends a start or a server. */
const {
  cannotOpen: _cannotOpen,
  newer: _newer,
  gone: _gone,
  inUse: _inUse,
  missing: _missing,
  ...storeAnswers
} = storeErrors

const rooms = new Map(
  await Promise.all(
    globSync('src/*/*.errors.ts', { cwd: new URL('../', import.meta.url) }).map(async (file) => {
      const [, room = ''] = file.split('/')
      const [registry] = Object.values((await import(`../${file}`)) as Record<string, Registry>)
      return [room, registry ?? {}] as const
    }),
  ),
)

/** As the route says, else a token where it can answer 401. */
export const securityOf = ({ security, response = {} }: RouteSchema) =>
  security ?? ('401' in response ? [{ bearer: [] }] : [])

/** Every refusal that a route can answer with, by status. */
export function refusalsOf(route: RouteSchema): Map<number, ErrorDefinition[]> {
  const declared = new Set(Object.keys(route.response ?? {}).map(Number))
  const isDeclared = ({ kind }: ErrorDefinition): boolean => declared.has(STATUS[kind])
  const own = route.errors ?? [rooms.get(route.tags?.[0]?.toLowerCase() ?? '') ?? {}]
  const shell = Object.entries(httpErrors as Registry)
    .map(([name, definition]) => ({ definition, concerns: CONCERNS[name as keyof typeof httpErrors] }))
    .filter(({ definition, concerns }) => concerns?.(route) ?? isDeclared(definition))
  // What a caller meets first stands first: the route's own, then what any request may get.
  const special = shell.filter(({ concerns }) => concerns !== always)
  const general = shell.filter(({ concerns }) => concerns === always)
  const definitions = [
    ...own.flatMap(definitionsOf).filter(isDeclared),
    ...special.map(({ definition }) => definition),
    ...(withToken(route) ? Object.values(tokenErrors) : []),
    ...Object.values(storeAnswers).filter(isDeclared),
    ...general.map(({ definition }) => definition),
  ]
  const byStatus = Map.groupBy(definitions, ({ kind }) => STATUS[kind])
  const sorted = [...byStatus].sort(([first], [second]) => first - second)
  return new Map(sorted.map(([status, some]) => [status, withoutRepeats(some)]))
}

function definitionsOf(named: Registry | string): ErrorDefinition[] {
  if (typeof named !== 'string') return Object.values(named)
  const all = [...rooms.values()].flatMap((registry) => Object.values(registry))
  const found = all.find(({ code }) => code === named)
  if (found === undefined) throw new Error(`no registry has the error ${named}`)
  return [found]
}

const withoutRepeats = (definitions: readonly ErrorDefinition[]): ErrorDefinition[] =>
  definitions.filter(({ code }, index) => definitions.findIndex((other) => other.code === code) === index)
