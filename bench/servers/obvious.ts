import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import Fastify from 'fastify'
import { loadConfig } from '#src/config/load-config.ts'
import { successSchema } from '#src/http/envelope.ts'
import { PurchaseBodySchema, receiptSchema } from '#src/purchase/intake/intake.schema.ts'

/**
 * What one would write first: one SQLite transaction a request, on the same tables, just as durable. It asks for no key.
 * The journal is SQLite's own default unless another is named.
 */
const [, , path = '', journal = 'delete'] = process.argv
const database = new DatabaseSync(path)
database.exec(`PRAGMA journal_mode = ${journal}`)
database.exec('PRAGMA synchronous = FULL')
const insert = database.prepare(`
  INSERT INTO delivery (receipt, customer, order_id, status, received_at, payload) VALUES (unhex(?, '-'), 1, ?, ?, ?, ?)`)
const upsert = database.prepare(`
  INSERT INTO order_state (customer, order_id, status, state_position, latest_position, digest)
  VALUES (1, ?, ?, ?, ?, x'')
  ON CONFLICT DO UPDATE SET status = excluded.status, state_position = excluded.state_position,
                            latest_position = excluded.latest_position`)

const app = Fastify()
const schema = { body: PurchaseBodySchema, response: { 200: successSchema(receiptSchema(loadConfig({}).config), '') } }

app.post<{ Body: { Status: number; OrderID: string } }>('/Purchase/update', { schema }, async ({ body }) => {
  const receipt = randomUUID()
  const now = new Date()
  database.exec('BEGIN IMMEDIATE')
  const payload = Buffer.from(JSON.stringify(body))
  const { lastInsertRowid } = insert.run(receipt, body.OrderID, body.Status, now.getTime(), payload)
  upsert.run(body.OrderID, body.Status, lastInsertRowid, lastInsertRowid)
  database.exec('COMMIT')
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
