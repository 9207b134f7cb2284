import Fastify from 'fastify'
import { loadConfig } from '#src/config/load-config.ts'
import { successSchema } from '#src/http/envelope.ts'
import { PurchaseBodySchema, receiptSchema } from '#src/purchase/intake/intake.schema.ts'

/** Fastify with the same body and answer schemas, and nothing else: it stores nothing and asks for no key. */
const app = Fastify()
const schema = { body: PurchaseBodySchema, response: { 200: successSchema(receiptSchema(loadConfig({}).config), '') } }

app.post<{ Body: { Status: number; OrderID: string } }>('/Purchase/update', { schema }, async ({ body }) => ({
  data: {
    ReceiptID: '01a1fd40-d173-7140-8bbb-483c6d1b50e2',
    Status: body.Status,
    OrderID: body.OrderID,
    Duplicate: false,
    ReceivedAt: '2026-11-21T12:00:00.000Z',
  },
  success: true,
  message: 'OK',
}))

console.log(`listening on ${await app.listen({ host: '127.0.0.1', port: 0 })}"`)
