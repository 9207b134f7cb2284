import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect, it } from 'vitest'
import type { Example } from '#src/docs/contract/answers.ts'
import { contractViolation, published } from '../support/docs/contract.ts'

const ajv = addFormats.default(new Ajv2020({ strict: false }))
const operations = Object.entries(published.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
)
const answers = operations.flatMap(({ path, method, operation: { responses } }) =>
  Object.entries(responses).flatMap(([status, { content = {} }]) =>
    Object.entries(content).map(([type, media]) => ({ path, method, status: Number(status), type, ...media })),
  ),
)

/** Every schema within a part of the contract that has examples. */
function exemplified(part: unknown): { examples: unknown[] }[] {
  if (typeof part !== 'object' || part === null) return []
  const own = 'examples' in part && Array.isArray(part.examples) ? [part as { examples: unknown[] }] : []
  return [...own, ...Object.values(part).flatMap(exemplified)]
}

it('every example of an answer is one that the contract allows, with no field that it does not name', () => {
  const named: Readonly<Record<string, Example>> = published.components.examples ?? {}
  const wrong = answers.flatMap(({ path, method, status, type, example, examples = {} }) => {
    const values = Object.keys(examples).map((code) => named[code]?.value)
    const all = example === undefined ? values : [example, ...values]
    return type === 'application/json'
      ? all.flatMap((value) => contractViolation(method, path, status, value) ?? [])
      : []
  })
  expect(wrong).toEqual([])
})

it('every example of a body, a parameter, a header or a field fits its schema', () => {
  const bodies = operations.flatMap(({ operation: { requestBody } }) =>
    Object.values(requestBody?.content ?? {}).flatMap(({ schema, example, examples = {} }) =>
      [example, ...Object.values(examples).map((one) => 'value' in one && one.value)].map((value) => ({
        schema,
        value,
      })),
    ),
  )
  const fields = exemplified(published).flatMap((schema) => schema.examples.map((value) => ({ schema, value })))
  expect(Math.min(bodies.length, fields.length)).toBeGreaterThan(20)
  const wrong = [...bodies, ...fields].filter(
    ({ schema, value }) => value !== undefined && !ajv.validate(schema, value),
  )
  expect(wrong).toEqual([])
})

it('no example says two things that exclude each other', () => {
  const objects = (part: unknown): Record<string, unknown>[] =>
    typeof part !== 'object' || part === null
      ? []
      : [part as Record<string, unknown>, ...Object.values(part).flatMap(objects)]
  const all = answers.flatMap(({ example }) => objects(example))
  const exclusions: readonly ((one: Record<string, unknown>) => boolean)[] = [
    ({ State, PausedAt, PausedReason }) => State === 'active' && (PausedAt ?? PausedReason ?? null) !== null,
    ({ Test, ReceiptID, NextTryAt }) => Test === true && (ReceiptID ?? NextTryAt ?? null) !== null,
    ({ IsRemoved, IsEnabled }) => IsRemoved === true && IsEnabled === true,
    ({ IsReadOnly, IsOperator }) => IsReadOnly === true && IsOperator === false,
    ({ CreatedAt, ExpiresAt }) => CreatedAt !== undefined && CreatedAt === ExpiresAt,
    ({ Erased, Payload }) => Erased === true && Payload !== undefined,
    ({ Store, Replicas }) => Store === 'sqlite' && (Replicas ?? null) !== null,
    ({ Action, RefusalID }) => Action === 'key.issue' && (RefusalID ?? null) !== null,
  ]
  expect(all.filter((one) => exclusions.some((excluded) => excluded(one)))).toEqual([])
  expect(all.length).toBeGreaterThan(50)
})
