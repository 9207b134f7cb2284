import { readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { ask } from '../../../support/app/ask.ts'
import { receiptsMissingFrom } from '../../../support/processes/ledger.ts'
import { teslim } from '../../../support/processes/process.ts'
import { until } from '../../../support/until.ts'
import { logIn } from './followers.ts'
import { createLedger, type Judge, judgeReceipts, judgeStored, sentOf } from './judge.ts'
import type { Site } from './site.ts'
import type { Stage } from './stage.ts'

/** For what waits since the endpoint refused an order several times in a row. */
const WEBHOOKS_MILLISECONDS = 60_000

/** Lets everybody get what is left, ends the servers, and compares what was acknowledged with the store and with what everybody got. */
export async function compareBooks(stage: Stage): Promise<void> {
  const { site, judge, followers, live, backOffice, reader } = stage
  backOffice.behave()
  let isSent = false
  void stage.stopSending().then(() => {
    isSent = true
  })
  await until('every delivery has its receipt', () => isSent)
  const { size } = judge.acknowledged
  const expectSoon = (what: string, left: () => number, milliseconds?: number): Promise<void> =>
    until('', () => left() === 0, { ...(milliseconds && { milliseconds }) }).catch(() => {
      judge.problem(`${what}: ${left()} of ${size} are missing`)
    })
  for (const { name, receipts } of followers) await expectSoon(name, () => size - receipts.length)
  await expectSoon('the live view', () => size - live.counted())
  await expectSoon('webhooks', () => size - confirmedBy(stage), WEBHOOKS_MILLISECONDS)

  const url = String(site.replicas[0]?.url)
  const token = await logIn(url, reader.operator, reader.abort)
  const fromStart = await readFeed(url, token)
  await judgeOrders(url, token, judge)
  await expectWebhookDone(url, token, judge)
  await stage.leave()
  await site.stop()

  const stored = await exportStore(site, judge)
  judgeStored(stored, judge)
  for (const { name, receipts } of followers) judgeReceipts(name, receipts, stored.receipts, judge)
  judgeReceipts('the feed from its start', fromStart, stored.receipts, judge)
  if (site.store === 'sqlite') judgeFile(site.path, judge)
}

/** How many deliveries the back office has confirmed. */
function confirmedBy({ judge, backOffice: { confirmed } }: Stage): number {
  let sum = 0
  for (const [order, sent] of judge.orders) sum += Math.min(sent, confirmed.get(order) ?? 0)
  return sum
}

async function exportStore({ where }: Site, judge: Judge) {
  const { status, stdout, stderr } = await teslim(['delivery', 'export'], where)
  if (status !== 0) judge.problem(`teslim delivery export ended with ${status}: ${stderr}`)
  const stored = createLedger('the export', judge)
  for (const line of stdout.split('\n').slice(0, -1)) {
    const delivery = JSON.parse(line)
    stored.take(delivery.ReceiptID, sentOf(delivery))
  }
  return stored
}

/** It is sound, has every receipt, and nothing is left beside it but the locks of a server and of a backup. */
function judgeFile(path: string, judge: Judge): void {
  const missing = receiptsMissingFrom(path, [...judge.acknowledged.keys()])
  if (missing.length > 0) judge.problem(`LOST: ${missing.length} receipts are not in the file, such as ${missing[0]}`)
  const usual = ['', '-server', '-backup'].map((end) => basename(path) + end)
  const left = readdirSync(dirname(path)).filter((name) => !usual.includes(name))
  if (left.length > 0) judge.problem(`left behind beside the store: ${left.join(', ')}`)
}

/** The receipts of all deliveries, in the order of the feed. */
async function readFeed(url: string, token: string): Promise<string[]> {
  const receipts: string[] = []
  for (let after = ''; ; ) {
    const query = new URLSearchParams({ limit: '1000', payload: 'none', after })
    const { Deliveries, NextCursor } = await read(`${url}/Purchase/feed?${query}`, token)
    if (Deliveries.length === 0) return receipts
    for (const { ReceiptID } of Deliveries) receipts.push(ReceiptID)
    after = NextCursor
  }
}

/** Each order has the Status of its last delivery. */
async function judgeOrders(url: string, token: string, judge: Judge): Promise<void> {
  const expected = new Map(judge.orders)
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = new URLSearchParams({ limit: '100', cursor })
    const { Orders, NextCursor } = await read(`${url}/Purchase/list?${query}`, token)
    for (const { OrderID, Status } of Orders) {
      const sent = Number(expected.get(OrderID))
      if (Status !== (sent - 1) % 4) judge.problem(`order ${OrderID} has Status ${Status} after ${sent} deliveries`)
      expected.delete(OrderID)
    }
    cursor = NextCursor
  }
  if (expected.size > 0)
    judge.problem(`${expected.size} orders are in no list, such as ${expected.keys().next().value}`)
}

async function expectWebhookDone(url: string, token: string, judge: Judge): Promise<void> {
  let seen = ''
  await until('', async () => {
    const { Endpoints } = await read(`${url}/Webhook/endpoints`, token)
    seen = JSON.stringify(Endpoints)
    return Endpoints.every(
      ({ State, Pending }: { State: string; Pending: number }) => State === 'active' && Pending === 0,
    )
  }).catch(() => judge.problem(`the webhook is not done: ${seen}`))
}

// biome-ignore lint/suspicious/noExplicitAny: `ask` compares each answer with the contract.
async function read(url: string, token: string): Promise<any> {
  const { status, body } = await ask(url, { method: 'GET', headers: { authorization: `Bearer ${token}` } })
  if (status !== 200) throw new Error(`${url} was answered ${status}: ${body}`)
  return JSON.parse(body).data
}
