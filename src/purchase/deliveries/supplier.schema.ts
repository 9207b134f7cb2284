import { Type } from '@sinclair/typebox'
import type { Config } from '#src/config/load-config.ts'
import { isoMilliseconds, isoOrNull } from '#src/lib/clock.ts'
import { CUSTOMER_ID, count, named, orNull, text } from '#src/lib/json/schema-parts.ts'
import type { Supplier } from '../suppliers.ts'

export const supplierSchema = (config: Config) =>
  named('Supplier', {
    CustomerID: text('The customer that the API key belongs to', CUSTOMER_ID),
    Key: Type.Object(
      {
        KeyID: Type.String({ examples: ['01a1fd40-3b1c-7d02-8f4e-5a6b7c8d9e0f'] }),
        Label: Type.String({ examples: ['erp'] }),
        CreatedAt: Type.String({ format: 'date-time' }),
        ExpiresAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
          examples: ['2027-02-19T08:37:25.959Z'],
          description: 'When the key stops working; null if it has no end',
        }),
        Networks: orNull(
          Type.Array(Type.String({ examples: ['203.0.113.0/24'] })),
          'The only addresses and networks from which the key works; null for any',
        ),
      },
      { description: 'The API key that was sent' },
    ),
    AuthorityRules: Type.Array(Type.String({ examples: ['SKU-*'] }), {
      description: 'What the key may deliver: product codes, prefixes such as ABC-*, or * for all',
    }),
    Limits: Type.Object(
      {
        BodyBytes: count('Largest body of a delivery', config.bodyLimitBytes),
        RateLimit: orNull(
          Type.Integer({ minimum: 1, examples: [config.rateLimit || 600] }),
          'Deliveries a minute; null for no limit',
        ),
        OrderIDRequired: Type.Boolean({
          description: 'Whether a delivery without an order id is refused',
          examples: [config.orderId === 'required'],
        }),
        IdempotencyDays: count('Days an Idempotency-Key is remembered', config.idempotencyDays),
      },
      { description: 'What holds for deliveries with this key' },
    ),
  })

export const supplierAnswer = ({ key, customer }: Supplier, config: Config) => ({
  CustomerID: customer.id,
  Key: {
    KeyID: key.id,
    Label: key.label,
    CreatedAt: isoMilliseconds(key.createdAt),
    ExpiresAt: isoOrNull(key.expiresAt),
    Networks: key.networks && [...key.networks],
  },
  AuthorityRules: [...customer.authority],
  Limits: {
    BodyBytes: config.bodyLimitBytes,
    RateLimit: (key.rateLimit ?? config.rateLimit) || null,
    OrderIDRequired: config.orderId === 'required',
    IdempotencyDays: config.idempotencyDays,
  },
})
