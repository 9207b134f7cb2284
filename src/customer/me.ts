import type { Static } from '@sinclair/typebox'
import type { Customer, Scope } from '#src/store/store.ts'
import type { CustomerSchema } from './customer.schema.ts'
import { isOperator, isReadOnly, type Rights } from './rights.ts'

/** The part of a token's access that says who has it. */
interface Bearer {
  readonly customer: Customer
  readonly region: string
  readonly scope: Scope
  readonly rights: Rights
}

export const meAnswer = ({ customer, region, scope, rights }: Bearer): Static<typeof CustomerSchema> => ({
  CustomerID: customer.id,
  Email: customer.email,
  Name: customer.name,
  IsAPI: customer.isApi,
  Scope: scope,
  SeesPayloads: rights.has('payloads'),
  IsOperator: isOperator(rights),
  IsReadOnly: isReadOnly(rights),
  Region: region,
  Regions: [...customer.regions],
  AuthorityRules: [...customer.authority],
})
