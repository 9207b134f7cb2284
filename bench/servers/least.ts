import { randomUUID } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import Fastify from 'fastify'
import { loadConfig } from '#src/config/load-config.ts'
import { successSchema } from '#src/http/envelope.ts'
import { PurchaseBodySchema, receiptSchema } from '#src/purchase/intake/intake.schema.ts'
import type { Row } from './least-writer.ts'

/**
 * The least that a durable answer costs Fastify: a thread stores what comes in meanwhile with one commit, in two tables with a primary
 * key each. It asks for no key, knows no echo, does not keep the exact bytes, writes no log, and limits nothing.
 */
const [, , path = ''] = process.argv
const writer = new Worker(new URL('./least-writer.ts', import.meta.url), { name: 'writer', workerData: path })

const MAX_UNDER_WAY = 2
let rows: Row[] = []
let answers: (() => void)[] = []
const underWay: (() => void)[][] = []

function send(): void {
  if (rows.length === 0 || underWay.length === MAX_UNDER_WAY) return
  writer.postMessage(rows)
  underWay.push(answers)
  rows = []
  answers = []
}
writer.on('message', () => {
  for (const answer of underWay.shift() ?? []) answer()
  send()
})

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
