import { Type } from '@sinclair/typebox'
import {
  CUSTOMER_ID,
  closed,
  customerFilter,
  FEED_CURSOR,
  filter,
  limit,
  named,
  RECEIPT_ID,
  text,
} from '#src/lib/json/schema-parts.ts'
import { DeliverySchema } from '../purchase.schema.ts'

export const DEFAULT_FEED_LIMIT = 100
export const MAX_WAIT_SECONDS = 60

export const FeedQuerySchema = closed({
  after: filter(
    'NextCursor of the previous answer; if it is not sent, the answer starts with the first delivery that is there',
    FEED_CURSOR,
  ),
  limit: limit(DEFAULT_FEED_LIMIT, 'deliveries', 1000),
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_WAIT_SECONDS,
      default: 0,
      description: 'Seconds to wait for a delivery if there is none yet',
    }),
  ),
  payload: Type.Optional(
    Type.Union([Type.Literal('full'), Type.Literal('none')], {
      default: 'full',
      description: 'Whether deliveries contain their payloads',
    }),
  ),
  customer: customerFilter,
})

export const FeedHeadersSchema = Type.Object({
  'Last-Event-ID': Type.Optional(
    text('Overrides after; clients of event streams send it when they reconnect', FEED_CURSOR),
  ),
})

const { ReceiptID, OrderID, CustomerID, Status, Duplicate, ReceivedAt, Erased, Payload } = DeliverySchema.properties

export const FeedDeliverySchema = named('FeedDelivery', {
  ReceiptID,
  OrderID,
  Status,
  Duplicate,
  ReceivedAt,
  Erased,
  CustomerID,
  Payload,
})

export const FeedSchema = Type.Object({
  Deliveries: Type.Array(FeedDeliverySchema, { description: 'In the order of their commits' }),
  NextCursor: text(
    'Send it as after to get what follows; it is never null. It does not expire, but is refused with 410 once deliveries that follow it were removed',
    FEED_CURSOR,
  ),
})

/** Describes an event stream, for the contract. */
export const EventsSchema = Type.String({
  description: 'Server-sent events, one for each delivery: its data is the delivery, its id is a cursor',
  examples: [
    `id: ${FEED_CURSOR}\ndata: {"ReceiptID":"${RECEIPT_ID}","Status":2,"Duplicate":false,"ReceivedAt":"2026-11-21T08:37:25.959Z","OrderID":"PO-1","CustomerID":"${CUSTOMER_ID}","Payload":{"OrderID":"PO-1","Status":2}}\n\n`,
  ],
})
