import type { Config } from '#src/config/load-config.ts'
import { httpErrors } from '#src/http/http.errors.ts'
import { mustBe } from '#src/http/validation.ts'
import type { ErrorDefinition, Problem } from '#src/lib/app-error.ts'
import { textOf } from '#src/lib/messages/message.ts'
import { RARE_CODES, type RouteSchema, refusalsOf } from './errors.ts'
import { exampleOf, type Schema } from './examples.ts'
import { ALLOWANCE, BEFORE_ALLOWANCE, header, headersOf, REQUEST_ID, type Reference } from './headers.ts'

export interface Example {
  /** Absent if it is the message. */
  readonly summary?: string
  readonly value: unknown
}

export interface Media {
  schema: Schema
  example?: unknown
  examples?: Readonly<Record<string, Example | Reference>>
}

export interface Answer {
  readonly description: string
  readonly headers: Readonly<Record<string, Reference>>
  readonly content?: Readonly<Record<string, Media>>
}

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly description?: string
  readonly required?: boolean
  schema: Schema
  example?: unknown
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly description?: string; readonly content: Readonly<Record<string, Media>> }
  security?: readonly Readonly<Record<string, readonly string[]>>[]
  responses: Record<string, Answer>
}

export interface OpenApi {
  readonly info: {
    readonly title: string
    readonly version: string
    readonly description: string
    readonly contact?: { readonly name: string }
  }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks?: object
  components: {
    readonly schemas: Readonly<Record<string, Schema>>
    headers?: Record<string, object>
    examples?: Record<string, Example>
  }
}

/** What each status of a refusal means. */
const WHY: Readonly<Record<number, string>> = {
  400: 'The request is not valid',
  401: 'The API key or the token is missing or not valid',
  403: 'The API key or the token is valid, but does not allow this',
  404: 'Not found, or it belongs to another customer',
  405: 'The answer to any other method than those that this address has',
  408: 'The request did not arrive in time',
  409: 'It conflicts with what is stored, or several match',
  410: 'It was there, and was removed',
  413: 'The body is larger than allowed',
  415: 'The body is of the wrong type or encoding',
  422: 'The Idempotency-Key was used with another body before',
  429: 'Too many requests; send it again after Retry-After seconds',
  431: 'The address and headers are too large',
  500: 'A fault of the service',
  503: 'The service cannot take the request right now; send it again after Retry-After seconds',
}

/** Adds credentials to each operation; headers, error codes and examples to each of its answers. */
export function finishContract(document: OpenApi, routes: ReadonlyMap<string, RouteSchema>, config: Config): OpenApi {
  const examples: Record<string, Example> = {}

  const finish = (operation: Operation): void => {
    const route = routes.get(operation.operationId)
    if (route === undefined) throw new Error(`an operation has no operationId: ${operation.summary}`)
    operation.security = route.security ?? []
    // Tools fill in the `example` of a parameter: a second try with the example Idempotency-Key would be a 422.
    for (const parameter of operation.parameters ?? []) {
      // A path needs a value, so here the tools may fill it in.
      if (parameter.in === 'path') parameter.example = exampleOf(parameter.schema)
    }
    for (const media of Object.values(operation.requestBody?.content ?? {})) {
      if (route.bodyExamples) media.examples = route.bodyExamples
      else media.example = exampleOf(media.schema)
    }

    const unchanged = {
      description: 'Nothing has changed since the answer whose ETag If-None-Match names',
      headers: { 'x-request-id': header('RequestId'), etag: header('ETag') },
    }
    const successes = Object.entries(operation.responses).map(([status, { description, content: json }]) => {
      const content: Record<string, Media> = { ...json, ...structuredClone(route.alsoAnswers?.[status]) }
      for (const media of Object.values(content)) {
        media.example ??= exampleOf(media.schema)
        const { description: same, ...schema } = media.schema
        // Once is enough.
        if (same === description) media.schema = schema
      }
      const headers = {
        'x-request-id': header('RequestId'),
        ...(route.isTagged && { etag: header('ETag') }),
        ...(route.isLimited && ALLOWANCE),
      }
      return [status, { description, headers, content }] as const
    })
    const failures = Array.from(refusalsOf(route), ([status, definitions]) => {
      const isCounted = route.isLimited === true && !BEFORE_ALLOWANCE.has(status)
      return [String(status), refusal(status, definitions, isCounted)] as const
    })
    const conditional = route.isTagged ? [['304', unchanged] as const] : []
    operation.responses = Object.fromEntries([...successes, ...conditional, ...failures])
  }

  /** Most operations share their refusals. */
  const refusals = new Map<string, Answer>()
  const refusal = (status: number, definitions: readonly ErrorDefinition[], isCounted: boolean): Answer => {
    const codes = definitions.map(({ code }) => code)
    const key = `${status} ${codes} ${isCounted}`
    const known = refusals.get(key)
    if (known !== undefined) return known
    // An example of a rare one stands in the first answer that has it, and where there is no other.
    const first = codes.filter((code) => !RARE_CODES.has(code) || !(code in examples))
    const shown = first.length === 0 ? codes : first
    for (const definition of definitions) examples[definition.code] ??= exampleOfError(definition)
    const named = shown.map((code) => [code, { $ref: `#/components/examples/${code}` }] as const)
    const headers = {
      'x-request-id': header('RequestId'),
      ...(status === 405 && { allow: header('Allow') }),
      ...(status === 401 && { 'www-authenticate': header('Challenge') }),
      ...((status === 429 || status === 503) && { 'retry-after': header('RetryAfter') }),
      ...(isCounted && ALLOWANCE),
    }
    const answer: Answer = {
      description: `${WHY[status]}: ${codes.map((code) => `\`${code}\``).join(', ')}`,
      headers,
      content: {
        'application/json': {
          schema: {
            allOf: [
              { $ref: '#/components/schemas/Failure' },
              { type: 'object', properties: { errorCode: { enum: codes } } },
            ],
          },
          examples: Object.fromEntries(named),
        },
      },
    }
    refusals.set(key, answer)
    return answer
  }

  for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods))) finish(operation)
  document.components = {
    ...document.components,
    headers: headersOf(config),
    examples: Object.fromEntries(Object.entries(examples).sort()),
  }
  const tagOf = (methods: OpenApi['paths'][string]): string => Object.values(methods)[0]?.tags[0] ?? ''
  // By tag, that is by caller: the two operations of the original contract come first.
  const places = document.tags.map(({ name }) => name)
  const paths = Object.entries(document.paths).sort(
    ([, one], [, other]) => places.indexOf(tagOf(one)) - places.indexOf(tagOf(other)),
  )
  const used = new Set(paths.map(([, methods]) => tagOf(methods)))
  return { ...document, tags: document.tags.filter(({ name }) => used.has(name)), paths: Object.fromEntries(paths) }
}

/** The error codes of a refusal. */
export const codesOf = ({ content = {} }: Answer): string[] =>
  Object.values(content).flatMap(({ schema }) => (schema.allOf?.[1]?.properties?.errorCode?.enum ?? []) as string[])

const exampleOfError = ({ code, message }: ErrorDefinition): Example =>
  code === httpErrors.invalidRequest.code
    ? exampleOfInvalid({ path: '/Status', message: 'is required' })
    : { value: { data: null, success: false, message: textOf(message), errorCode: code, requestId: REQUEST_ID } }

function exampleOfInvalid(problem: Problem): Example {
  const message = `The request is not valid: ${problem.path} ${textOf(problem.message)}.`
  const errorCode = httpErrors.invalidRequest.code
  const value = { data: null, success: false, message, errorCode, requestId: REQUEST_ID, errors: [problem] }
  return { summary: textOf(httpErrors.invalidRequest.message), value }
}

/** An INVALID_REQUEST for the last required field of the body, else for the first parameter. */
export function invalidExample({ requestBody, parameters = [] }: Operation): Example | undefined {
  const [field] = Object.values(requestBody?.content ?? {})[0]?.schema.required?.slice(-1) ?? []
  if (field !== undefined) return exampleOfInvalid({ path: `/${field}`, message: 'is required' })
  const [parameter] = parameters
  if (parameter === undefined) return undefined
  const place = { header: 'headers', query: 'query', path: 'path' }[parameter.in] ?? ''
  const name = place === 'headers' ? parameter.name.toLowerCase() : parameter.name
  const { schema } = parameter
  // The validator's schema has a choice where the contract has an `enum`.
  const anyOf = schema.enum?.map((value) => ({ const: value }))
  return exampleOfInvalid({
    path: `${place}/${name}`,
    message: textOf(mustBe({ ...schema, ...(anyOf && { anyOf }) })),
  })
}
