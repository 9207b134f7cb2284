import { Type } from '@sinclair/typebox'
import { closed, count, messageParts, orNull, text } from '#src/lib/json/schema-parts.ts'
import { OrderIdSchema } from '../purchase.schema.ts'

const DryRun = Type.Optional(Type.Boolean({ description: 'Whether to count only', examples: [true] }))

export const EraseDeliverySchema = closed({ DryRun })

export const EraseOrderSchema = closed({
  Customer: text('The customer of the order, by id or e-mail address', 'erp@example.com'),
  DryRun,
})

export const OrderParamsSchema = Type.Object({ orderId: OrderIdSchema })

export const ErasureSchema = Type.Object({
  DryRun: Type.Boolean({ description: 'Whether it was only counted', examples: [false] }),
  Deliveries: count('Deliveries erased now', 2),
  RefusedBodies: count('Refused bodies removed now', 0),
  Left: orNull(
    Type.Object({
      Message: Type.String({
        examples: ['the log beside the file may still hold what was removed, since another process reads the log'],
      }),
      ...messageParts('LOG_LEFT', { reason: { code: 'LOG_IS_READ', values: {} } }),
    }),
    'What may still be in the file, and what to do',
    { examples: [null] },
  ),
  Unreached: Type.Array(
    Type.Object({
      Message: Type.String({ examples: ['backups and copies of the store'] }),
      ...messageParts('UNREACHED_BACKUPS', {}),
    }),
    { description: 'Copies that no erasure can reach' },
  ),
})
