import type { OpenApi, Operation } from './contract-answers.ts'
import type { Schema } from './contract-examples.ts'

/** Fields of answers that are kept as variables for later requests. */
const KEPT: Readonly<Record<string, string>> = { Token: 'token', OrderID: 'orderId', ReceiptID: 'receiptId' }
/** The same for fields that stand one level deeper. */
const KEPT_WITHIN: Readonly<Record<string, readonly [string, string]>> = {
  Customer: ['CustomerID', 'customerId'],
  Key: ['KeyID', 'keyId'],
  Endpoint: ['EndpointID', 'endpointId'],
}

/** Writes the test script of a request: it checks status, envelope, fields, and the whole answer against its schema. */
export function testsOf(document: OpenApi, { responses }: Operation): string[] {
  const [[status, answer] = ['200', undefined]] = Object.entries(responses)
  const isKeptOnRequest = answer?.content['application/octet-stream'] !== undefined
  const lines = [
    isKeptOnRequest
      ? `pm.test('the status is ${status}, or 404 if nothing was kept', () => pm.expect(pm.response.code).to.be.oneOf([${status}, 404]))`
      : `pm.test('the status is ${status}', () => pm.response.to.have.status(${status}))`,
    "pm.test('the answer names its request', () => pm.response.to.have.header('x-request-id'))",
  ]
  const schema = answer?.content['application/json']?.schema
  if (schema === undefined) return lines
  const whole = resolved(document, schema)
  return [
    ...lines,
    'const answer = pm.response.json()',
    ...(whole.properties?.data?.properties?.Token ? EITHER_SPELLING : []),
    ...(whole.properties?.success ? ENVELOPE : []),
    ...fieldTests(whole.properties?.success ? whole.properties.data : undefined),
    `const schema = ${JSON.stringify(whole)}`,
    "pm.test('the answer fits the published schema', () => pm.expect(answer).to.have.jsonSchema(schema))",
  ]
}

const EITHER_SPELLING = [
  '// TESLIM_LOGIN_ANSWER decides the spelling.',
  'if (answer.data?.token) answer.data = { Token: answer.data.token, Expiration: answer.data.expiration, ...answer.data }',
]

const ENVELOPE = [
  "pm.test('the answer is a success envelope', () => {",
  "  pm.expect(answer).to.have.all.keys('data', 'success', 'message')",
  '  pm.expect(answer.success).to.equal(true)',
  "  pm.expect(answer.message).to.equal('OK')",
  '})',
]

/** Of alternatives, the first is what a request without optional parameters is answered with. */
function fieldTests(answered: Schema | undefined): string[] {
  const data = answered?.anyOf?.[0] ?? answered
  const required = data?.required ?? []
  if (required.length === 0) return []
  const kept = Object.entries(KEPT).filter(([field]) => data?.properties?.[field])
  const within = Object.entries(KEPT_WITHIN).filter(
    ([outer, [inner]]) => data?.properties?.[outer]?.properties?.[inner],
  )
  return [
    `pm.test('data has ${required.join(', ')}', () => pm.expect(answer.data).to.include.all.keys(${required.map((field) => `'${field}'`).join(', ')}))`,
    ...kept.map(
      ([field, variable]) =>
        `if (answer.data?.${field} !== undefined) pm.environment.set('${variable}', answer.data.${field})`,
    ),
    ...within.map(
      ([outer, [inner, variable]]) =>
        `if (answer.data?.${outer}) pm.environment.set('${variable}', answer.data.${outer}.${inner})`,
    ),
  ]
}

/** Resolves references and drops what Postman's validator (JSON Schema draft 7) does not know. */
function resolved(document: OpenApi, schema: Schema): Schema {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk)
    if (typeof value !== 'object' || value === null) return value
    const ref = '$ref' in value ? String(value.$ref).split('/').at(-1) : undefined
    if (ref !== undefined) return walk(document.components.schemas[ref])
    const kept = Object.entries(value).filter(
      ([key, inner]) => !IGNORED.has(key) || (typeof inner === 'object' && !Array.isArray(inner)),
    )
    return Object.fromEntries(kept.map(([key, inner]) => [key, walk(inner)]))
  }
  return walk(schema) as Schema
}

/** Annotations, and formats that Postman's sandbox may not know. */
const IGNORED = new Set(['description', 'examples', 'format'])
