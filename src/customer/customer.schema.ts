import { Type } from '@sinclair/typebox'

export const CustomerSchema = Type.Object({
  CustomerID: Type.String(),
  Email: Type.String(),
  IsAPI: Type.Boolean({ description: 'Whether it may log in here' }),
  IsOperator: Type.Boolean({ description: 'Whether this token reads the orders of all customers' }),
  Region: Type.String({ description: 'The region of this token' }),
  Regions: Type.Array(Type.String(), { description: 'The regions it may log in to' }),
  AuthorityRules: Type.Array(Type.String(), {
    description: 'What its keys may deliver: product codes, prefixes such as ABC-*, or * for all',
  }),
})
