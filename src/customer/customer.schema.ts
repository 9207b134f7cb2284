import { Type } from '@sinclair/typebox'
import {
  CUSTOMER_ID,
  closed,
  filter,
  flag,
  limit,
  named,
  oneOf,
  orNull,
  text,
  time,
} from '#src/lib/json/schema-parts.ts'
import { SCOPES } from './rights.ts'

export const ScopeSchema = oneOf(SCOPES, {
  title: 'Scope',
  description:
    'What tokens are for. customer: its own orders; feed: the feed of all customers; operator:support: orders, deliveries and refusals of all customers; operator:read: everything, but no changes; operator: everything',
  examples: ['customer'],
})

export const CustomerSchema = named('Me', {
  CustomerID: Type.String({ examples: [CUSTOMER_ID] }),
  Email: Type.String({ examples: ['shop@example.com'] }),
  Name: Type.String({ examples: ['Kitap A.Ş.'] }),
  IsAPI: Type.Boolean({ description: 'Whether it may log in here' }),
  Scope: ScopeSchema,
  SeesPayloads: flag('Whether this token reads payloads', true),
  IsOperator: flag('Whether this token is that of an operator, of any kind', false),
  IsReadOnly: flag('Whether this token is that of an operator who may not change anything', false),
  Region: text('The region of this token', 'TR'),
  Regions: Type.Array(Type.String({ examples: ['TR'] }), { description: 'The regions it may log in to' }),
  AuthorityRules: Type.Array(Type.String({ examples: ['SKU-*'] }), {
    description: 'What its keys may deliver: product codes, prefixes such as ABC-*, or * for all',
  }),
})

export const KEY_ID = '01a1fd41-5b0e-7c1d-8f60-2f1f0a6f9b11'

export const DEFAULT_KEYS_LIMIT = 100

export const KeysQuerySchema = closed({
  customer: filter(
    'For operators: the keys of this customer, by id or e-mail address, instead of their own',
    'shop@example.com',
  ),
  limit: limit(DEFAULT_KEYS_LIMIT, 'keys'),
  cursor: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f-]{36}$',
      description: 'NextCursor of an answer to the same address with the same parameters',
      examples: [KEY_ID],
    }),
  ),
})

/** 90 days after it was issued. */
const KEY_END = '2027-02-19T08:37:25.959Z'

export const KeySchema = named('CustomerKey', {
  KeyID: text('Names the key; is not the key itself', KEY_ID),
  Label: text('What the key is for', 'erp'),
  State: oneOf(['live', 'expired', 'revoked'], { title: 'KeyState', description: 'Only a live key works' }),
  CreatedAt: time('When the key was issued'),
  ExpiresAt: orNull(time('When the key stops working'), 'Null for never', { examples: [KEY_END] }),
  LastUse: orNull(
    named('LastUse', {
      UsedAt: time('When the key was used last; known a few seconds later'),
      Address: text('The address of the client', '203.0.113.7'),
    }),
    'Null for a key that was never used',
  ),
  Networks: Type.Union([Type.Array(Type.String({ examples: ['203.0.113.0/24'] })), Type.Null()], {
    description: 'The only addresses and networks from which the key works; null for any',
  }),
  RateLimit: Type.Union([Type.Integer({ minimum: 1, examples: [600] }), Type.Null()], {
    description: 'Deliveries a minute; null for no limit',
  }),
})

export const KeyListSchema = Type.Object({
  Keys: Type.Array(KeySchema, { description: 'The oldest first' }),
  NextCursor: Type.Union([Type.String({ examples: [KEY_ID] }), Type.Null()], {
    description: 'Send it as cursor to get what follows; null at the end',
  }),
})
