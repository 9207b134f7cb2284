import { Type } from '@sinclair/typebox'
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
  Left: Type.Union([Type.String(), Type.Null()], {
    description: 'What may still be in the file, and what to do',
    examples: [null],
  }),
  Unreached: Type.Array(Type.String({ examples: ['backups and copies of the store'] }), {
    description: 'Copies that no erasure can reach',
  }),
})
