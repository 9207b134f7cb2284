import { Type } from '@sinclair/typebox'
import { DeliverySchema } from './read-back.schema.ts'

export const DEFAULT_FEED_LIMIT = 100
export const LONGEST_WAIT_SECONDS = 60

export const FeedQuerySchema = Type.Object(
  {
    after: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'The cursor of the answer before; from the first delivery if not sent',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1000, default: DEFAULT_FEED_LIMIT, description: 'Most items in one answer' }),
    ),
    wait: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: LONGEST_WAIT_SECONDS,
        default: 0,
        description: 'Seconds to wait for a delivery where there is none yet',
      }),
    ),
    payload: Type.Optional(
      Type.Union([Type.Literal('full'), Type.Literal('none')], {
        default: 'full',
        description: 'Whether the items come with what was delivered',
      }),
    ),
    customer: Type.Optional(
      Type.String({ minLength: 1, description: 'For operators: only this customer, by id or e-mail address' }),
    ),
  },
  { additionalProperties: false },
)

const { ReceiptID, OrderID, CustomerID, Status, Duplicate, ReceivedAt, Payload } = DeliverySchema.properties

export const FeedSchema = Type.Object({
  items: Type.Array(
    Type.Object({
      ReceiptID,
      OrderID,
      Status,
      Duplicate,
      ReceivedAt,
      CustomerID: Type.Optional(CustomerID),
      Payload: Type.Optional(Payload),
    }),
    { description: 'In the order of their commits' },
  ),
  cursor: Type.String({ description: 'Send it as after for what follows; it does not expire' }),
})
