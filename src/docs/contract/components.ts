import { isDeepStrictEqual } from 'node:util'
import { type Answer, codesOf, type OpenApi, type Operation } from './answers.ts'

/**
 * A refusal has the name of its first code, `CURSOR_PURGED` is `CursorPurged`, unless a row here has that code first and all its other
 * codes are among those of the refusal; the first such row counts.
 */
const REFUSALS: readonly (readonly [name: string, first: string, ...others: string[]])[] = [
  ['BodyInvalid', 'BODY_MISSING'],
  ['CursorInBodyInvalid', 'CURSOR_INVALID', 'BODY_MISSING'],
  ['CustomerInvalid', 'EMAIL_INVALID'],
  ['ApiKeyInvalid', 'LABEL_INVALID'],
  ['WebhookChangeInvalid', 'WEBHOOK_URL_INVALID', 'WEBHOOK_HEADER_INVALID'],
  ['WebhookInvalid', 'WEBHOOK_URL_INVALID'],
  ['ApiKeyOrTokenRefused', 'API_KEY_MISSING', 'TOKEN_MISSING'],
  ['ApiKeyRefused', 'API_KEY_MISSING'],
  ['TokenRefused', 'TOKEN_MISSING'],
  ['FullOperatorRequired', 'OPERATOR_REQUIRED', 'OPERATOR_READ_ONLY'],
  ['ReadingOperatorRequired', 'OPERATOR_REQUIRED', 'OPERATOR_FOR_SUPPORT'],
  ['PayloadsNotAllowedOrFeedOnly', 'PAYLOADS_NOT_ALLOWED', 'FEED_ONLY'],
  ['CustomerOrRuleNotFound', 'CUSTOMER_NOT_FOUND', 'AUTHORITY_RULE_MISSING'],
  ['CustomerOrApiKeyNotFound', 'CUSTOMER_NOT_FOUND', 'API_KEY_NOT_FOUND'],
  ['WebhookOrDeliveryNotFound', 'WEBHOOK_NOT_FOUND', 'DELIVERY_NOT_FOUND'],
  ['WebhookOrCustomerNotFound', 'WEBHOOK_NOT_FOUND', 'CUSTOMER_NOT_FOUND'],
  ['CustomerRemovedOrWebhookChanged', 'CUSTOMER_REMOVED', 'WEBHOOK_CHANGED'],
  ['CustomerRemovedOrSelf', 'CUSTOMER_REMOVED', 'OPERATOR_SELF'],
  ['CustomerRemovedOrTooManyWebhooks', 'CUSTOMER_REMOVED', 'WEBHOOK_TOO_MANY'],
  ['CursorPurgedOrLost', 'CURSOR_PURGED', 'DELIVERIES_LOST'],
  ['LoginUnavailable', 'LOGIN_OVERLOADED', 'SIGNING_KEY_CANNOT_OPEN'],
  ['WebhookSecretCannotOpenWithBody', 'WEBHOOK_SECRET_CANNOT_OPEN', 'BODIES_OVERLOADED'],
  ['UnavailableWithBody', 'BODIES_OVERLOADED'],
  ['Unavailable', 'ANSWERS_OVERLOADED', 'STORE_UNAVAILABLE'],
  ['ServerUnavailable', 'ANSWERS_OVERLOADED'],
]

type Kind = 'schemas' | 'responses' | 'parameters'

/** Moves refusals, answers and parameters that several operations share, and schemas whose title is a name into `components`. */
export function withComponents(document: OpenApi): OpenApi {
  const components: Record<Kind, Record<string, object>> = {
    schemas: { ...document.components.schemas },
    responses: {},
    parameters: {},
  }
  /** What operations share is looked at once. */
  const known = new Map<object, object>()
  const move = (kind: Kind, name: string, part: object, hint: string): object => {
    const { [name]: named = part } = components[kind]
    if (!isDeepStrictEqual(named, part)) {
      const [one, other] = [named, part].map((shape) => JSON.stringify(shape).slice(0, 300))
      throw new Error(`two ${kind} have the name ${name}: ${hint}. One is ${one}, the other ${other}`)
    }
    components[kind][name] = part
    return { $ref: `#/components/${kind}/${name}` }
  }
  const moveRefusal = (answer: Answer): object => {
    const codes = codesOf(answer)
    const hint = `add a row that begins with ${codes[0]} to REFUSALS in src/docs/contract/components.ts`
    const name = nameOfRefusal(codes)
    const own = tellsAllowance(answer) && plain.has(name) ? `${name}WithAllowance` : name
    const moved = known.get(answer) ?? move('responses', own, answer, hint)
    known.set(answer, moved)
    return moved
  }
  const untold = refusalsOf(document).filter((answer) => !tellsAllowance(answer))
  const plain = new Set(untold.map((answer) => nameOfRefusal(codesOf(answer))))
  const names = namesOfParameters(document)
  const answers = namesOfAnswers(document)
  const moveSchemas = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part
    const moved = known.get(part) ?? (Array.isArray(part) ? part.map(moveSchemas) : moveSchema(part))
    known.set(part, moved)
    return moved
  }
  const moveSchema = (part: object): object => {
    const inner = Object.fromEntries(
      Object.entries(part).map(([key, value]) => [key, DATA.has(key) ? value : moveSchemas(value)]),
    )
    // The name says as much as the title.
    const { title, ...shape } = inner
    return isName(title) ? move('schemas', title, shape, 'give one of them another title') : inner
  }
  const moveAnswer = (answer: Answer): object => {
    const name = answers.get(JSON.stringify(answer))
    const moved = moveSchemas(answer) as object
    return name === undefined ? moved : move('responses', name, moved, 'give the data of one another title')
  }
  const shorten = ({ parameters, responses, ...operation }: Operation) => ({
    ...operation,
    ...(parameters && {
      parameters: parameters.map((parameter) => {
        const name = names.get(JSON.stringify(parameter))
        return name === undefined
          ? parameter
          : move('parameters', name, parameter, 'make them equal, or extend namesOfParameters')
      }),
    }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, answer]) => [
        status,
        status === '304'
          ? move('responses', 'NotModified', answer, 'make them equal')
          : status < '400'
            ? moveAnswer(answer)
            : moveRefusal(answer),
      ]),
    ),
  })
  const paths = mapValues(document.paths, (methods) => mapValues(methods, shorten))
  const webhooks = moveSchemas(document.webhooks)
  const sorted = mapValues(components, (parts) => Object.fromEntries(Object.entries(parts).sort()))
  return { ...document, components: { ...document.components, ...sorted }, paths, webhooks } as unknown as OpenApi
}

/** Their values are data, not schemas. */
const DATA = new Set(['default', 'enum', 'example', 'examples'])

/** Other titles say what a value must be, such as `two letters`. */
const isName = (title: unknown): title is string => typeof title === 'string' && /^[A-Z][A-Za-z]+$/.test(title)

function nameOfRefusal(codes: readonly string[]): string {
  const [first = ''] = codes
  const row = REFUSALS.find(([, ...wanted]) => wanted[0] === first && wanted.every((code) => codes.includes(code)))
  const name = row?.[0] ?? first.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, letter) => letter.toUpperCase())
  if (!isName(name)) throw new Error(`a refusal with the codes ${codes.join(', ')} has no name`)
  return name
}

const operationsOf = ({ paths }: OpenApi): Operation[] => Object.values(paths).flatMap(Object.values<Operation>)

const answersOf = (document: OpenApi): [status: string, answer: Answer][] =>
  operationsOf(document).flatMap(({ responses }) => Object.entries(responses))

const refusalsOf = (document: OpenApi): Answer[] =>
  answersOf(document).flatMap(([status, answer]) => (status < '400' ? [] : [answer]))

/** Names the answers that several operations share by their data: `ChangedEndpointAnswer`. */
function namesOfAnswers(document: OpenApi): ReadonlyMap<string, string> {
  const all = answersOf(document).flatMap(([status, answer]) => {
    const title = answer.content?.['application/json']?.schema.properties?.data?.title
    return status < '400' && isName(title) ? [[JSON.stringify(answer), `${title}Answer`] as const] : []
  })
  const byText = Map.groupBy(all, ([text]) => text)
  return new Map([...byText.values()].filter(({ length }) => length > 1).flat())
}

const tellsAllowance = ({ headers }: Answer): boolean => 'ratelimit-limit' in headers

/** Throws if there are rows that name no refusal. For the default settings: others may leave refusals out. */
export function refuseUnusedRows(document: OpenApi): void {
  const used = new Set(refusalsOf(document).map((answer) => nameOfRefusal(codesOf(answer))))
  const unused = REFUSALS.map(([name]) => name).filter((name) => !used.has(name))
  if (unused.length > 0)
    throw new Error(`remove the rows ${unused.join(', ')} from REFUSALS: no refusal has these names`)
}

/** Names the parameters that several operations share: `limit` is `Limit`; `from` of deliveries only is `DeliveriesFrom`. */
function namesOfParameters(document: OpenApi): ReadonlyMap<string, string> {
  const all = operationsOf(document).flatMap(({ operationId, parameters = [] }) =>
    parameters.map((parameter) => ({ parameter, operationId })),
  )
  const users = Map.groupBy(all, ({ parameter }) => JSON.stringify(parameter))
  const shared = [...users].filter(([, uses]) => uses.length > 1)
  return new Map(
    shared.map(([text, uses]) => {
      const nouns = new Set(uses.map(({ operationId }) => /[A-Z][a-z]+$/.exec(operationId)?.[0] ?? ''))
      const { name, in: place } = JSON.parse(text) as { name: string; in: string }
      const own = name[0]?.toUpperCase() + name.slice(1).replaceAll('-', '')
      return [text, place !== 'path' && nouns.size === 1 ? [...nouns][0] + own : own]
    }),
  )
}

const mapValues = <Value, Result>(record: Readonly<Record<string, Value>>, change: (value: Value) => Result) =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
