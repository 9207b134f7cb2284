import { Type } from '@sinclair/typebox'
import { named } from '#src/lib/json/named-schema.ts'
import { filter, orNull, RECEIPT_ID, time } from '#src/lib/json/schema-parts.ts'
import { FATES } from '../fates.ts'
import { ERROR, Status } from './schema-parts.ts'

export const ToldSchema = Type.Object({
  Deliveries: Type.Array(
    named('DeliveryAtEndpoint', {
      ReceiptID: Type.String({ examples: [RECEIPT_ID] }),
      OrderID: orNull(Type.String({ examples: ['PO-1'] }), 'Null if none was found, or it was erased or removed'),
      Status: orNull(Status, 'Null for a delivery that was removed'),
      Duplicate: orNull(Type.Boolean(), 'Null for a delivery that was removed'),
      ReceivedAt: orNull(time('When it was received'), 'Null for a delivery that was removed'),
      State: Type.Union(
        FATES.map((state) => Type.Literal(state)),
        {
          title: 'DeliveryState',
          description:
            'confirmed: the endpoint has it; waiting: it is still to be sent; failing: it failed and is tried again; set-aside: it failed for too long; not-wanted: the endpoint does not get such deliveries; purged: the store has no deliveries of that time any more',
        },
      ),
      At: orNull(
        time('When it was confirmed, failed first, or was set aside'),
        'Null if it did not happen, or is no longer known',
      ),
      AnswerStatus: orNull(Type.Integer({ examples: [204] }), 'The status of the answer that confirmed it'),
      Milliseconds: orNull(Type.Number({ examples: [12] }), 'How long the attempt took that was confirmed'),
      Failures: Type.Integer({ description: 'Attempts that failed, while it waits', examples: [0] }),
      Error: orNull(Type.String({ examples: [ERROR] }), 'Why it failed last, while it waits'),
      NextTryAt: orNull(time('When it is tried again'), 'Null if nothing failed, or the endpoint is paused'),
    }),
    { description: 'The newest first; of an order at most 500' },
  ),
})

export const ToldQuerySchema = Type.Object(
  {
    orderId: filter('The deliveries of this order', 'PO-1'),
    receiptId: filter('The delivery with this receipt', RECEIPT_ID),
    customer: filter(
      'The customer of the order, by id or e-mail address; needed if several have an order with this id',
      'shop@example.com',
    ),
  },
  { additionalProperties: false },
)
