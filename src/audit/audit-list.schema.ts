import { Type } from '@sinclair/typebox'
import { named } from '#src/lib/json/named-schema.ts'
import { CURSOR_PATTERN } from './audit-list.rule.ts'

const CUSTOMER = '01a1fd40-0c1e-7b52-9a0f-3f5d2c1b7e64'
const KEY = '01a1fd40-1b2c-7d3e-8f4a-5b6c7d8e9fa0'
const REQUEST = '01a1fd40-d173-7140-8bbb-0c6f3d5a9e21'
const CURSOR = '1763716173651-4711'

export const DEFAULT_LIMIT = 50

const only = (description: string, example: string) =>
  Type.Optional(Type.String({ minLength: 1, description, examples: [example] }))

const time = (description: string) =>
  only(
    `${description}: 2026-11-21T09:00:00Z, with any offset, or 2026-11-21 for the start of that day in UTC`,
    '2026-11-21',
  )

export const AuditQuerySchema = Type.Object(
  {
    customer: only('Only events of this customer, by id or e-mail address', 'shop@example.com'),
    action: only('Only actions that begin with this text', 'key.'),
    orderId: only('Only refused deliveries of this order', 'PO-1'),
    requestId: only('Only what this request caused', REQUEST),
    keyId: only('Only what was done with or to this API key', KEY),
    from: time('Only what happened at this time or later'),
    to: time('Only what happened before this time'),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100,
        default: DEFAULT_LIMIT,
        description: 'Maximum number of events in one answer',
      }),
    ),
    cursor: Type.Optional(
      Type.String({
        pattern: CURSOR_PATTERN,
        title: 'the NextCursor of an answer',
        description: 'NextCursor of an answer to the same address with the same parameters',
        examples: [CURSOR],
      }),
    ),
  },
  { additionalProperties: false },
)

const orNull = (description: string, example: string | null) =>
  Type.Union([Type.String(), Type.Null()], { description, examples: [example] })

const EventSchema = named('AuditEvent', {
  At: Type.String({ format: 'date-time', description: 'Time of the event in UTC' }),
  Actor: Type.String({
    description: 'Who did it: cli: and a name, console: and an e-mail address, or api for requests that were refused',
    examples: ['console:ops@example.com'],
  }),
  Action: Type.String({ examples: ['key.issue'] }),
  CustomerID: orNull('The customer that it is about', CUSTOMER),
  Address: orNull('The address of the client', '203.0.113.7'),
  RequestID: orNull('The request that caused it', REQUEST),
  RefusalID: orNull('The refused delivery', null),
  OrderID: orNull('The order of a refused delivery', null),
  KeyID: orNull('The API key that was sent, issued, changed, rotated or revoked', KEY),
  Details: Type.Object(
    {},
    {
      additionalProperties: true,
      description: 'More about it, by action; never a secret',
      examples: [{ keyId: KEY, expiresAt: null }],
    },
  ),
})

export const AuditEventsSchema = Type.Object({
  Events: Type.Array(EventSchema, { description: 'Newest first' }),
  NextCursor: Type.Union([Type.String({ examples: [CURSOR] }), Type.Null()], {
    description:
      'Send it as cursor to get what follows. Null only at the end: a filtered answer may have few entries or none before that.',
  }),
})
