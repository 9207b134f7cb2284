/** A name that others use, with its kind, such as `setting LOG_LEVEL`, and what is promised of it, such as `default info`. */
export type Named = readonly [name: string, facts: readonly string[]]

export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
}

const lastOf = (ref: string): string => ref.split('/').at(-1) ?? ref

/** Every field with its type, `?` behind one that may be missing, and every value of an enumeration. */
export function factsOf(schema: Schema, path = ''): string[] {
  const where = path === '' ? 'is' : path
  if (schema.$ref !== undefined) return [`${where} ${lastOf(schema.$ref)}`]
  const { properties = {}, required = [], items, allOf = [], anyOf = [] } = schema
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const])
  return [
    ...(path !== '' || items ? [`${where} ${typeText(schema)}`] : []),
    ...values.map((value) => `${where} ${JSON.stringify(value)}`),
    ...[...allOf, ...anyOf.filter(saysMore)].flatMap((part) => factsOf(part, path)),
    ...(items && saysMore(items) ? factsOf(items, `${path}[]`) : []),
    ...Object.entries(properties).flatMap(([name, field]) => {
      const at = `${path === '' ? '' : `${path}.`}${name}${required.includes(name) ? '' : '?'}`
      return factsOf(field, at)
    }),
  ]
}

/** Whether there is more to say than the type. */
const saysMore = ({ $ref, ...schema }: Schema): boolean =>
  $ref === undefined && ['properties', 'enum', 'const', 'anyOf', 'allOf'].some((key) => key in schema)

function typeText({ $ref, type, items, anyOf }: Schema): string {
  if ($ref !== undefined) return lastOf($ref)
  if (type === 'array' && items) return `${typeText(items)}[]`
  if (anyOf) return [...new Set(anyOf.map(typeText))].join('|')
  return type === undefined ? 'any' : [type].flat().join('|')
}

interface Parameter {
  readonly $ref?: string
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: Schema
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
}

interface Answer extends Content {
  readonly $ref?: string
  readonly headers?: object
}

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Answer>>
}

interface Contract {
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters: Readonly<Record<string, Parameter>>
    readonly responses: Readonly<Record<string, Answer>>
    readonly headers: object
    readonly securitySchemes: object
  }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** Every operation, header and named part of the contract. */
export function contractNames({ components, paths, webhooks }: Contract): Named[] {
  const contentFacts = ({ content = {} }: Content, what: string): string[] =>
    Object.entries(content).flatMap(([type, { schema = {} }]) => [`${what} ${type}`, ...factsOf(schema, what)])
  const wholeOf = (answer: Answer): Answer =>
    answer.$ref === undefined ? answer : (components.responses[lastOf(answer.$ref)] ?? answer)
  const operationName = (method: string, path: string, operation: Operation): Named => {
    const { operationId, parameters = [], requestBody = {}, responses } = operation
    const named = parameters.map((each) => (each.$ref ? components.parameters[lastOf(each.$ref)] : each) as Parameter)
    return [
      `operation ${operationId}`,
      [
        `${method.toUpperCase()} ${path}`,
        ...named.flatMap(({ name, in: place, required = false, schema }) =>
          factsOf(schema, `${place} ${name}${required ? '' : '?'}`),
        ),
        ...contentFacts(requestBody, 'body'),
        // What a refusal says is the same everywhere, and each code has a line of its own.
        ...Object.entries(responses).flatMap(([status, answer]) =>
          Number(status) < 400 ? [status, ...contentFacts(wholeOf(answer), status)] : [status],
        ),
      ],
    ]
  }
  const operations = [...Object.entries(paths), ...Object.entries(webhooks)].flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
  const { responses, parameters, headers, securitySchemes } = components
  const parts = Object.entries({ responses, parameters, headers, securitySchemes })
  const answers = [
    ...operations.flatMap(({ operation }) => Object.values(operation.responses)),
    ...Object.values(responses),
  ]
  return [
    ...Object.entries(components.schemas).map(([name, schema]): Named => [`schema ${name}`, factsOf(schema)]),
    // As `#/components/responses/Unavailable` names them.
    ...parts.flatMap(([kind, named]) => Object.keys(named).map((name): Named => [`component ${kind}/${name}`, []])),
    ...operations.map(({ method, path, operation }) => operationName(method, path, operation)),
    ['headers of answers', answers.flatMap(({ headers = {} }) => Object.keys(headers))],
  ]
}
