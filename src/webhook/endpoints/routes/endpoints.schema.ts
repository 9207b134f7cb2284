import { Type } from '@sinclair/typebox'
import {
  CUSTOMER_ID,
  CustomerName,
  closed,
  count,
  FEED_CURSOR,
  filter,
  flag,
  named,
  oneOf,
  orNull,
  RECEIPT_ID,
  text,
  time,
} from '#src/lib/json/schema-parts.ts'
import { WEBHOOK_PAUSES } from '#src/store/store.ts'
import { FATES } from '../fates.ts'
import { BEHIND_MILLISECONDS, STANDINGS } from '../standing.ts'

export const ENDPOINT_ID = '01a1fd42-7c3e-7d10-9b2a-6c1e5f0a4d77'
export const URL_EXAMPLE = 'https://backoffice.example/webhooks'

export const Status = Type.Integer({ minimum: 0, maximum: 3, examples: [3] })
const ERROR = 'connection refused'
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwTp4yKLBvDHo='

/** Of an endpoint that is not paused. */
const NULL_EXAMPLE = { examples: [null] }
const EndpointID = text('Names the endpoint', ENDPOINT_ID)

const ReplayProgressSchema = named('Replay', {
  BeganAt: time('When an operator asked for it'),
  From: orNull(time('When the first delivery of the stretch was received'), 'Null if none is left'),
  To: orNull(time('When the last delivery of the stretch was received'), 'Null if none is left'),
  Statuses: orNull(Type.Array(Status), 'Only deliveries with one of these Statuses; null for all'),
  Added: count('Deliveries that wait to be sent again, or were sent again', 2400),
  Percent: count('How much of the stretch was read', 40),
})

const EndpointSchema = named('Endpoint', {
  EndpointID,
  URL: text(
    'Where deliveries are sent; for a read-only operator, the path after its first segment and the query are ***',
    URL_EXAMPLE,
  ),
  CustomerID: orNull(
    Type.String({ examples: [CUSTOMER_ID] }),
    'Gets deliveries of this customer; null for all customers',
  ),
  Customer: CustomerName,
  Statuses: orNull(Type.Array(Status), 'Gets deliveries with one of these Statuses; null for all'),
  Duplicates: Type.Boolean({ description: 'Whether it gets duplicates, too' }),
  State: oneOf(STANDINGS, {
    title: 'EndpointState',
    description: `failing: something that failed waits, or the endpoint does not answer; behind: the oldest delivery that is not confirmed is more than ${BEHIND_MILLISECONDS / 60_000} minutes old; paused: nothing is sent until it is resumed, and nothing is lost`,
  }),
  PausedReason: orNull(
    oneOf(WEBHOOK_PAUSES, { title: 'PausedReason' }),
    'operator: by an operator; gone: it answered 410; customer-removed: with its customer; restored: the store was restored or copied. Null for an endpoint that is not paused',
    NULL_EXAMPLE,
  ),
  PausedAt: orNull(time('When it was paused'), 'Null for an endpoint that is not paused', NULL_EXAMPLE),
  Pending: count(
    'Deliveries for this endpoint that are still to be confirmed; a few that were just confirmed may be among them',
    12,
  ),
  PendingAtLeast: flag(
    'Whether there are more than Pending: counting stops early for an endpoint that gets only some deliveries',
    false,
  ),
  Waiting: count(
    'Deliveries that wait in the store: to be tried again, for an earlier delivery of their order, or to be sent again',
    2,
  ),
  Failing: count('Those of them that failed: of an order only the first can', 1),
  SetAside: count('Deliveries that failed for too long, and are not tried again', 0),
  PurgedUnsent: count('Deliveries that purges have removed before they were sent. This number never falls', 0),
  LastSuccessAt: orNull(time('When it confirmed a delivery last'), 'Null for never'),
  FailingSince: orNull(time('Since when something that failed waits'), 'Null if nothing does'),
  NextTryAt: orNull(time('When the next attempt is due'), 'Null if nothing is to be tried again, or it is paused'),
  BehindSeconds: count(
    'The age of the oldest delivery that is not confirmed, not set aside and not sent again; 0 if there is none',
    3,
  ),
  CreatedAt: time('When it was added'),
  GiveUp: orNull(
    Type.Number({ examples: [259_200] }),
    'Seconds that a delivery may fail until it is set aside; null for as long as it takes',
  ),
  HasCA: Type.Boolean({ description: 'Whether it has a certificate authority of its own' }),
  Headers: Type.Array(Type.String({ examples: ['Authorization'] }), {
    description: 'The names of the headers of its own that every request to it has',
  }),
  Cursor: text(
    'A cursor of the feed, up to which everything is confirmed, waits, is set aside or is not for this endpoint',
    FEED_CURSOR,
  ),
  Replay: orNull(
    ReplayProgressSchema,
    'What is being sent again; null for nothing, and once everything of it waits',
    NULL_EXAMPLE,
  ),
})

const Secret = text('Verifies signatures; shown only now', SECRET)

export const EndpointsSchema = Type.Object({
  Endpoints: Type.Array(EndpointSchema, { description: 'The oldest first' }),
})
export const ChangedEndpointSchema = named('ChangedEndpoint', { Endpoint: EndpointSchema })
export const EndpointWithSecretSchema = named('EndpointWithSecret', { Endpoint: EndpointSchema, Secret })
export const ReplayedSchema = Type.Object({
  Endpoint: EndpointSchema,
  Deliveries: count('How many deliveries are sent again; of a stretch, the most that it may have', 1),
})
export const RemovedEndpointSchema = Type.Object({ EndpointID })

const ReceiptID = orNull(Type.String({ examples: [RECEIPT_ID] }), 'Null if the delivery was removed since')
const OrderID = orNull(
  Type.String({ examples: ['PO-1'] }),
  'Null for a test, if none was found, or if it was erased or removed since',
)
const delivery = {
  ReceiptID,
  OrderID,
  Failures: count('Attempts that failed', 4),
  FirstFailedAt: orNull(time('When it failed first'), 'Null for never'),
  Error: orNull(Type.String({ examples: [ERROR] }), 'Why it failed last'),
}

export const ShownEndpointSchema = Type.Object({
  Endpoint: EndpointSchema,
  Failing: Type.Array(
    Type.Object({
      ...delivery,
      NextTryAt: orNull(time('When it is tried again'), 'Null if it waits for others, or the endpoint is paused'),
    }),
    { description: 'Deliveries that failed and are tried again, by their next try; at most 100' },
  ),
  SetAside: Type.Array(Type.Object({ ...delivery, SetAsideAt: time('When it was set aside') }), {
    description: 'Deliveries that are not tried again, the oldest first; at most 100',
  }),
})

const AttemptSchema = named('Attempt', {
  At: time('When it began'),
  ReceiptID: orNull(
    Type.String({ examples: [RECEIPT_ID] }),
    'The delivery; null for a test, or if it was removed since',
  ),
  OrderID,
  Test: flag('Whether an operator sent a test', false),
  Status: orNull(Type.Integer({ examples: [500] }), 'The status of the answer; null if none came'),
  Error: orNull(Type.String({ examples: ['status 500'] }), 'Why it failed; null for a success'),
  Milliseconds: Type.Number({ description: 'How long it took', examples: [12] }),
  Response: orNull(
    Type.String({ examples: ['out of order'] }),
    'The beginning of the body of the answer, at most 1 KiB, without secrets that were sent; null, too, for a read-only operator, for a test of a host that TESLIM_WEBHOOK_ALLOW may name',
  ),
  NextTryAt: orNull(time('When the delivery was to be tried again'), 'Null for a test or a success'),
})

export const AttemptsSchema = Type.Object({
  Attempts: Type.Array(AttemptSchema, {
    description: 'Failures of the last day, and tests, the newest first; at most 500. Successes are only counted',
  }),
  Minutes: Type.Array(
    Type.Object({
      Minute: time('The beginning of the minute'),
      Succeeded: Type.Integer({ examples: [240] }),
      Failed: Type.Integer({ examples: [1] }),
      LongestMilliseconds: Type.Number({ description: 'The slowest attempt', examples: [31] }),
    }),
    { description: 'The minutes of the last day that had an attempt, the oldest first' },
  ),
})

export const TestedSchema = Type.Object({ Attempt: AttemptSchema })

export const ToldSchema = Type.Object({
  Deliveries: Type.Array(
    named('DeliveryAtEndpoint', {
      ReceiptID: Type.String({ examples: [RECEIPT_ID] }),
      OrderID: orNull(Type.String({ examples: ['PO-1'] }), 'Null if none was found, or it was erased or removed'),
      Status: orNull(Status, 'Null for a delivery that was removed'),
      Duplicate: orNull(Type.Boolean(), 'Null for a delivery that was removed'),
      ReceivedAt: orNull(time('When it was received'), 'Null for a delivery that was removed'),
      State: oneOf(FATES, {
        title: 'DeliveryState',
        description:
          'confirmed: the endpoint has it; waiting: it is still to be sent; failing: it failed and is tried again; set-aside: it failed for too long; not-wanted: the endpoint does not get such deliveries; purged: the store has no deliveries of that time any more',
      }),
      At: orNull(
        time('When it was confirmed, failed first, or was set aside'),
        'Null if it did not happen, or is no longer known',
      ),
      AnswerStatus: orNull(Type.Integer({ examples: [204] }), 'The status of the answer that confirmed it'),
      Milliseconds: orNull(Type.Number({ examples: [12] }), 'How long the attempt took that was confirmed'),
      Failures: count('Attempts that failed, while it waits', 0),
      Error: orNull(Type.String({ examples: [ERROR] }), 'Why it failed last, while it waits'),
      NextTryAt: orNull(time('When it is tried again'), 'Null if nothing failed, or the endpoint is paused'),
    }),
    { description: 'The newest first; of an order at most 500' },
  ),
})

export const customerOfOrder = filter(
  'The customer of the order, by id or e-mail address; needed if several have an order with this id',
  'shop@example.com',
)

export const ToldQuerySchema = closed({
  orderId: filter('The deliveries of this order', 'PO-1'),
  receiptId: filter('The delivery with this receipt', RECEIPT_ID),
  customer: customerOfOrder,
})
