import { Type } from '@sinclair/typebox'

export const CustomerSchema = Type.Object({
  CustomerID: Type.String({ examples: ['01a1fd40-0c1e-7b52-9a0f-3f5d2c1b7e64'] }),
  Email: Type.String({ examples: ['shop@example.com'] }),
  IsAPI: Type.Boolean({ description: 'Whether it may log in here' }),
  IsOperator: Type.Boolean({ description: 'Whether this token reads the orders of all customers' }),
  IsReadOnly: Type.Boolean({ description: 'Whether this token is that of a read-only operator' }),
  Region: Type.String({ description: 'The region of this token', examples: ['TR'] }),
  Regions: Type.Array(Type.String({ examples: ['TR'] }), { description: 'The regions it may log in to' }),
  AuthorityRules: Type.Array(Type.String({ examples: ['SKU-*'] }), {
    description: 'What its keys may deliver: product codes, prefixes such as ABC-*, or * for all',
  }),
})
