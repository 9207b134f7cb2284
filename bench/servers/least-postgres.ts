import { randomUUID } from 'node:crypto'
import Fastify from 'fastify'
import pg from 'pg'
import { loadConfig } from '#src/config/load-config.ts'
import { successSchema } from '#src/http/envelope.ts'
import { PurchaseBodySchema, receiptSchema } from '#src/purchase/intake/intake.schema.ts'

/**
 * The least that a durable answer costs Fastify with PostgreSQL: one statement stores what came in while those before it were under way, in
 * two tables with a primary key each. It asks for no key, knows no echo, does not keep the exact bytes, writes no log, and limits nothing.
 */
const client = new pg.Client({ connectionString: process.argv[2], pipeline: true })
await client.connect()
await client.query(`
  CREATE TABLE least_delivery (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    receipt uuid, order_id text, status smallint, received_at bigint, payload text
  );
  ALTER TABLE least_delivery ALTER COLUMN payload SET STORAGE EXTERNAL;
  CREATE TABLE least_order (order_id text COLLATE "C" PRIMARY KEY, status smallint, received_at bigint) WITH (fillfactor = 80)`)
const STORE = {
  name: 'store',
  text: `
    WITH incoming AS MATERIALIZED (
      SELECT * FROM unnest($1::uuid[], $2::text[], $3::smallint[], $4::bigint[], $5::text[], $6::boolean[])
          AS i (receipt, order_id, status, received_at, payload, is_last)
    ), stored AS (
      INSERT INTO least_delivery (receipt, order_id, status, received_at, payload)
      SELECT receipt, order_id, status, received_at, payload FROM incoming
    )
    INSERT INTO least_order (order_id, status, received_at)
    SELECT order_id, status, received_at FROM incoming WHERE is_last
    ON CONFLICT (order_id) DO UPDATE SET status = excluded.status, received_at = excluded.received_at`,
}

/** Receipt, order id, status, time of receipt, body. */
type Row = readonly [string, string, number, number, string]

const MAX_UNDER_WAY = 2
let rows: Row[] = []
let answers: (() => void)[] = []
let underWay = 0

async function send(): Promise<void> {
  if (rows.length === 0 || underWay === MAX_UNDER_WAY) return
  const [sent, done] = [rows, answers]
  rows = []
  answers = []
  underWay++
  // One statement may change the state of an order once.
  const last = new Map(sent.map(([, orderId], index) => [orderId, index]))
  const columns = [0, 1, 2, 3, 4].map((column) => sent.map((row) => row[column]))
  await client.query({ ...STORE, values: [...columns, sent.map(([, orderId], index) => last.get(orderId) === index)] })
  underWay--
  for (const answer of done) answer()
  void send()
}

const store = (row: Row): Promise<void> =>
  new Promise((resolve) => {
    if (rows.push(row) === 1) setImmediate(send)
    answers.push(resolve)
  })

const app = Fastify()
const schema = { body: PurchaseBodySchema, response: { 200: successSchema(receiptSchema(loadConfig({}).config), '') } }

app.post<{ Body: { Status: number; OrderID: string } }>('/Purchase/update', { schema }, async ({ body }) => {
  const { OrderID, Status } = body
  const receipt = randomUUID()
  const now = new Date()
  await store([receipt, OrderID, Status, now.getTime(), JSON.stringify(body)])
  return {
    data: { ReceiptID: receipt, Status, OrderID, Duplicate: false, ReceivedAt: now.toISOString() },
    success: true,
    message: 'OK',
  }
})

console.log(`listening on ${await app.listen({ host: '127.0.0.1', port: 0 })}"`)
