import { Type } from '@sinclair/typebox'
import type { Config } from '#src/config/load-config.ts'
import { named } from '#src/lib/json/named-schema.ts'

export const supplierSchema = (config: Config) =>
  named('Supplier', {
    CustomerID: Type.String({
      description: 'The customer that the API key belongs to',
      examples: ['01a1fd40-0c1e-7b52-9a0f-3f5d2c1b7e64'],
    }),
    Key: Type.Object(
      {
        KeyID: Type.String({ examples: ['01a1fd40-3b1c-7d02-8f4e-5a6b7c8d9e0f'] }),
        Label: Type.String({ examples: ['erp'] }),
        CreatedAt: Type.String({ format: 'date-time' }),
        ExpiresAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
          examples: ['2027-02-19T08:37:25.959Z'],
          description: 'When the key stops working; null if it has no end',
        }),
        Networks: Type.Union([Type.Array(Type.String({ examples: ['203.0.113.0/24'] })), Type.Null()], {
          description: 'The only addresses and networks from which the key works; null for any',
        }),
      },
      { description: 'The API key that was sent' },
    ),
    AuthorityRules: Type.Array(Type.String({ examples: ['SKU-*'] }), {
      description: 'What the key may deliver: product codes, prefixes such as ABC-*, or * for all',
    }),
    Limits: Type.Object(
      {
        BodyBytes: Type.Integer({ description: 'Largest body of a delivery', examples: [config.bodyLimitBytes] }),
        RateLimit: Type.Union([Type.Integer({ minimum: 1, examples: [config.rateLimit || 600] }), Type.Null()], {
          description: 'Deliveries a minute; null for no limit',
        }),
        OrderIDRequired: Type.Boolean({
          description: 'Whether a delivery without an order id is refused',
          examples: [config.orderId === 'required'],
        }),
        IdempotencyDays: Type.Integer({
          description: 'Days an Idempotency-Key is remembered',
          examples: [config.idempotencyDays],
        }),
      },
      { description: 'What holds for deliveries with this key' },
    ),
  })
