import { randomUUID } from 'node:crypto'
import Fastify from 'fastify'
import pg from 'pg'
import { loadConfig } from '#src/config/load-config.ts'
import { successSchema } from '#src/http/envelope.ts'
import { PurchaseBodySchema, receiptSchema } from '#src/purchase/intake/intake.schema.ts'

/** What one would write first: an INSERT a request through the pool. It keeps no order state and asks for no key. */
const pool = new pg.Pool({ connectionString: process.argv[2], max: 10 })
const INSERT = {
  name: 'insert',
  text: `INSERT INTO obvious_delivery (receipt, order_id, status, received_at, payload) VALUES ($1, $2, $3, $4, $5)`,
}
await pool.query(`
  CREATE TABLE IF NOT EXISTS obvious_delivery (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, receipt uuid NOT NULL UNIQUE, order_id text,
    status smallint NOT NULL, received_at bigint NOT NULL, payload bytea NOT NULL
  )`)

const app = Fastify()
const schema = { body: PurchaseBodySchema, response: { 200: successSchema(receiptSchema(loadConfig({}).config), '') } }

app.post<{ Body: { Status: number; OrderID: string } }>('/Purchase/update', { schema }, async ({ body }) => {
  const receipt = randomUUID()
  const now = new Date()
  const payload = Buffer.from(JSON.stringify(body))
  await pool.query({ ...INSERT, values: [receipt, body.OrderID, body.Status, now.getTime(), payload] })
  return {
    data: {
      ReceiptID: receipt,
      Status: body.Status,
      OrderID: body.OrderID,
      Duplicate: false,
      ReceivedAt: now.toISOString(),
    },
    success: true,
    message: 'OK',
  }
})

console.log(`listening on ${await app.listen({ host: '127.0.0.1', port: 0 })}"`)
