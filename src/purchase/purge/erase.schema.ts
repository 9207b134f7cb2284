import { Type } from '@sinclair/typebox'
import { messageParts, orNull } from '#src/lib/json/schema-parts.ts'
import { OrderIdSchema } from '../purchase.schema.ts'

const DryRun = Type.Optional(Type.Boolean({ description: 'Whether to count only', examples: [true] }))

export const EraseDeliverySchema = Type.Object({ DryRun }, { additionalProperties: false })

export const EraseOrderSchema = Type.Object(
  {
    Customer: Type.String({
      description: 'The customer of the order, by id or e-mail address',
      examples: ['erp@example.com'],
    }),
    DryRun,
  },
  { additionalProperties: false },
)

export const OrderParamsSchema = Type.Object({ orderId: OrderIdSchema })

export const ErasureSchema = Type.Object({
  DryRun: Type.Boolean({ description: 'Whether it was only counted', examples: [false] }),
  Deliveries: Type.Integer({ description: 'Deliveries erased now', examples: [2] }),
  RefusedBodies: Type.Integer({ description: 'Refused bodies removed now', examples: [0] }),
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
