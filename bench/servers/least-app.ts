import { randomUUID } from 'node:crypto'
import Fastify from 'fastify'
import { loadConfig } from '#src/config/load-config.ts'
import { successSchema } from '#src/http/envelope.ts'
import { PurchaseBodySchema, receiptSchema } from '#src/purchase/intake/intake.schema.ts'

/** Receipt, order id, status, time of receipt, body. */
export type Row = readonly [string, string, number, number, string]

const MAX_UNDER_WAY = 2

/**
 * Serves the least that a durable answer costs Fastify: `storeAll` stores at once what came in while those before it were under way. It asks
 * for no key, knows no echo, does not keep the exact bytes, writes no log, and limits nothing.
 */
export async function serveLeast(storeAll: (rows: readonly Row[]) => Promise<void>): Promise<void> {
  let rows: Row[] = []
  let answers: (() => void)[] = []
  let underWay = 0

  const send = async (): Promise<void> => {
    if (rows.length === 0 || underWay === MAX_UNDER_WAY) return
    const [sent, done] = [rows, answers]
    rows = []
    answers = []
    underWay++
    await storeAll(sent)
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
  const schema = {
    body: PurchaseBodySchema,
    response: { 200: successSchema(receiptSchema(loadConfig({}).config), '') },
  }
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
}
