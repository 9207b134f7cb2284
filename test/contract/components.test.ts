import { describe, expect, it } from 'vitest'
import { type Answer, codesOf, type OpenApi } from '#src/docs/contract/answers.ts'
import { refuseUnusedRows, withComponents } from '#src/docs/contract/components.ts'
import { contract } from '../../tools/contract.ts'
import { contractNames } from '../../tools/contract-names.ts'

/** Without parts that several operations share, so that a test may change one of them. */
const whole = JSON.parse(JSON.stringify(await contract())) as OpenApi

/** The contract with another code in some of the refusals that have this one. */
function withCode(code: string, beside: string, where: (operationId: string) => boolean): OpenApi {
  const document = structuredClone(whole)
  for (const { operationId, responses } of Object.values(document.paths).flatMap((methods) => Object.values(methods))) {
    for (const { content = {} } of Object.values(responses)) {
      const { examples } = content['application/json'] ?? {}
      if (examples?.[beside] && where(operationId)) Object.assign(examples, { [code]: examples[beside] })
    }
  }
  return document
}

const refusals = (document: OpenApi): string[] =>
  Object.keys((withComponents(document).components as OpenApi['components'] & { responses: object }).responses)

describe('the names in openapi.yaml', () => {
  it('are those that generated clients use as types', () => {
    const promised =
      'ApiKey Attempt AuditEvent Check Customer CustomerKey Delivery DeliverySummary Endpoint Failure FeedDelivery KeyState Login Me Order OrderEntry OrderHistory Receipt Refusal Stats Supplier SupplierDelivery SupplierRefusal SupplierSummary'
    expect(Object.keys(withComponents(whole).components.schemas)).toEqual(expect.arrayContaining(promised.split(' ')))
  })

  it('stay the same when a refusal gets one more code everywhere', () => {
    expect(refusals(withCode('NEW_CODE', 'CURSOR_PURGED', () => true))).toEqual(refusals(whole))
    expect(refusals(whole)).toEqual(expect.arrayContaining(['CursorPurged', 'TokenRefused', 'InvalidRequest']))
  })

  it('are promised, so that a code which renames a refusal is noticed', () => {
    const document = structuredClone(whole)
    const answer = document.paths['/Purchase/update']?.post?.responses['429'] as Answer
    const [, own] = answer.content?.['application/json']?.schema.allOf ?? []
    Object.assign(own?.properties?.errorCode ?? {}, { enum: ['NEW_CODE', ...codesOf(answer)] })
    const namesOf = (contract: OpenApi) =>
      contractNames(withComponents(contract) as unknown as Parameters<typeof contractNames>[0]).map(([name]) => name)
    const renamed = namesOf(document)
    expect(namesOf(whole).filter((name) => !renamed.includes(name))).toEqual(['component responses/RateLimited'])
  })

  it('say where a name is missing when it gets the code in some operations only', () => {
    const some = withCode('NEW_CODE', 'DELIVERY_NOT_FOUND', (operationId) => operationId === 'purchaseDelivery')
    expect(() => refusals(some)).toThrow(
      / DeliveryNotFound: add a row that begins with DELIVERY_NOT_FOUND to REFUSALS in src/,
    )
  })

  it('have no row in the table that no refusal needs any more', () => {
    expect(() => refuseUnusedRows(whole)).not.toThrow()
    const document = structuredClone(whole)
    for (const { responses } of Object.values(document.paths).flatMap((methods) => Object.values(methods))) {
      if (codesOf(responses['503'] as Answer)[0] === 'LOGIN_OVERLOADED') delete responses['503']
    }
    expect(() => refuseUnusedRows(document)).toThrow('remove the rows LoginUnavailable from REFUSALS')
  })

  it('are not made up for a refusal without a code', () => {
    const document = structuredClone(whole)
    const { content } = document.paths['/livez']?.get?.responses['500'] ?? {}
    Object.assign(content?.['application/json'] ?? {}, { schema: {} })
    expect(() => refusals(document)).toThrow('a refusal with the codes  has no name')
  })

  it('belong to one shape each', () => {
    const document = structuredClone(whole)
    const [one, other] = ['/livez', '/readyz'].map((path) => document.paths[path]?.get?.responses['200'])
    for (const [answer, type] of [
      [one, 'string'],
      [other, 'integer'],
    ] as const) {
      Object.assign(answer?.content?.['application/json'] ?? {}, { schema: { title: 'Twice', type } })
    }
    expect(() => refusals(document)).toThrow(/two schemas have the name Twice: give one of them another title/)
  })
})
