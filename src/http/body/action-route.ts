import type { TObject, TSchema } from '@sinclair/typebox'
import type { ErrorDefinition } from '#src/lib/app-error.ts'
import { readingBody } from './reader.ts'

/** Something that operators do, as the contract describes it. */
interface Action {
  readonly summary: string
  readonly description: string
  readonly errors: readonly ErrorDefinition[]
  readonly params?: TObject
  readonly body?: TObject
  readonly bodyExamples?: Readonly<Record<string, { summary: string; value: unknown }>>
  /** The schema of its success. */
  readonly answer: TSchema
}

/** Makes schema and hooks of the route of an action: `addCustomer` of the tag `Operator` is the operation `operatorAddCustomer`. */
export function actionRoute<Route extends Action>(tag: string, name: string, { answer, ...route }: Route) {
  const { description, body } = route
  const schema = {
    ...route,
    operationId: `${tag.toLowerCase()}${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    description: body ? description : `${description} Takes no body.`,
    tags: [tag],
    // A Content-Type that cannot be read is refused even without a body.
    consumes: ['application/json'],
    response: { 200: answer as Route['answer'] },
  }
  return { schema, ...(body && readingBody(body)) }
}
