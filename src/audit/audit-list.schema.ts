import { Type } from '@sinclair/typebox'
import {
  CUSTOMER_ID,
  CustomerName,
  closed,
  filter,
  KEY_ID,
  limit,
  named,
  nextCursor,
  REQUEST_ID,
  text,
  timeFilter,
} from '#src/lib/json/schema-parts.ts'
import { CURSOR_PATTERN } from './audit-list.rule.ts'

const CURSOR = '1763716173651-4711'

export const DEFAULT_LIMIT = 50

export const AuditQuerySchema = closed({
  customer: filter('Only events of this customer, by id or e-mail address', 'shop@example.com'),
  action: filter('Only actions that begin with this text', 'key.'),
  orderId: filter('Only refused deliveries of this order', 'PO-1'),
  requestId: filter('Only what this request caused', REQUEST_ID),
  keyId: filter('Only what was done with or to this API key', KEY_ID),
  from: timeFilter('Only what happened at this time or later'),
  to: timeFilter('Only what happened before this time'),
  limit: limit(DEFAULT_LIMIT, 'events'),
  cursor: Type.Optional(
    Type.String({
      pattern: CURSOR_PATTERN,
      title: 'the NextCursor of an answer',
      description: 'NextCursor of an answer to the same address with the same parameters',
      examples: [CURSOR],
    }),
  ),
})

const orNull = (description: string, example: string | null) =>
  Type.Union([Type.String(), Type.Null()], { description, examples: [example] })

const EventSchema = named('AuditEvent', {
  At: Type.String({ format: 'date-time', description: 'Time of the event in UTC' }),
  Actor: text(
    'Who did it: cli: and a name, console: and an e-mail address, or api for requests that were refused',
    'console:ops@example.com',
  ),
  Action: Type.String({ examples: ['key.issue'] }),
  CustomerID: orNull('The customer that it is about', CUSTOMER_ID),
  Customer: CustomerName,
  Address: orNull('The address of the client', '203.0.113.7'),
  RequestID: orNull('The request that caused it', REQUEST_ID),
  RefusalID: orNull('The refused delivery', null),
  OrderID: orNull('The order of a refused delivery', null),
  KeyID: orNull('The API key that was sent, issued, changed, rotated or revoked', KEY_ID),
  Details: Type.Object(
    {},
    {
      additionalProperties: true,
      description:
        'More about it, by action; never a secret. Texts such as reason are in English; messages has their codes and values, for other languages.',
      examples: [{ keyId: KEY_ID, expiresAt: null }],
    },
  ),
})

export const AuditEventsSchema = Type.Object({
  Events: Type.Array(EventSchema, { description: 'Newest first' }),
  NextCursor: nextCursor(CURSOR),
})
