import { Type } from '@sinclair/typebox'
import { named, RECEIPT_ID } from '#src/lib/json/schema-parts.ts'
import { FeedDeliverySchema } from '#src/purchase/feed/feed.schema.ts'

const message = (type: string, when: string) => ({
  type: Type.Literal(type),
  timestamp: Type.String({ format: 'date-time', description: when }),
})

/** What is sent to an endpoint: made by push/payloads.ts and, on request of an operator, by endpoints/endpoints.rule.ts. */
export const MessageSchema = Type.Union([
  named('DeliveryMessage', {
    ...message('delivery.received', 'When the delivery was received'),
    data: FeedDeliverySchema,
  }),
  named('TestMessage', { ...message('teslim.test', 'When the test was sent'), data: Type.Object({}) }),
])

/** As Standard Webhooks define them. */
export const MessageHeadersSchema = Type.Object({
  'webhook-id': Type.String({
    minLength: 1,
    description: 'The ReceiptID of the delivery, the same whenever it is sent again; for a test another id',
    examples: [RECEIPT_ID],
  }),
  'webhook-timestamp': Type.String({
    pattern: '^\\d+$',
    description: 'When this attempt was made, in seconds since 1970',
    examples: ['1795250245'],
  }),
  'webhook-signature': Type.String({
    pattern: '^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$',
    description:
      'v1, and the Base64 of the HMAC-SHA256 of webhook-id, a full stop, webhook-timestamp, a full stop and the body, with the secret of the endpoint; two of them while it is being replaced',
    examples: ['v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4='],
  }),
})
