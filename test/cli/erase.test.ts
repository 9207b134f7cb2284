import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { NewDelivery, NewRefusedBody, Store } from '#src/store/store.ts'
import { receivedAt } from '../store/conformance/purging.ts'
import { holding } from '../support/faults/remains.ts'
import { commandStage } from '../support/processes/command-stage.ts'
import {
  apiKey,
  auditEvent,
  customer,
  delivery,
  webhook as newWebhook,
  nextNumber,
} from '../support/store/store-rows.ts'
import { runSql, storesOfRun } from '../support/store/stores.ts'
import { tempFolder } from '../support/temp-folder.ts'

const MARKER = 'MARKER-of-a-person'
const OTHER = 'somebody else'

const payloadOf = (text: string, more = ''): Buffer =>
  Buffer.from(JSON.stringify({ Status: 1, name: text, more: `${more} and more than a digest `.repeat(4) }))

const refusedBody = (customerId: string, more: Partial<NewRefusedBody>): NewRefusedBody => ({
  refusalId: `01a1fd40-d173-7f02-9c11-${nextNumber().toString(16).padStart(12, '0')}`,
  at: Date.now(),
  customerId,
  keyId: '0199f3c2-8f4e-7c31-9d2a-000000000001',
  orderId: null,
  errorCode: 'PRODUCT_NOT_AUTHORIZED',
  message: 'No.',
  requestId: 'r',
  address: '192.0.2.9',
  payload: payloadOf(MARKER),
  ...more,
})

describe.each(storesOfRun())('erasing on %s', (kind, emptyStore) => {
  /** A store with a customer, and what the work puts into it. */
  async function makeStore(fill: (store: Store, customerId: string) => Promise<void>) {
    const { DATABASE_URL } = await emptyStore()
    const { run, json, url, withStore: open } = commandStage({ DATABASE_URL })
    const one = customer({ email: `c${nextNumber()}@example.com` })
    await open(async (store) => {
      await store.customers.insert(one)
      await store.apiKeys.insert(apiKey(one.id))
      await fill(store, one.id)
    })
    return { one, run, json, open, url }
  }

  const deliverAll = async ({ deliveries }: Store, all: readonly NewDelivery[]): Promise<void> => {
    for (const each of all) await deliveries.deliver(each)
  }
  const origin = { keyId: '0199f3c2-8f4e-7c31-9d2a-000000000001', address: '192.0.2.77', requestId: MARKER }

  it('a delivery leaves nothing but its receipt, Status, time, order and digest', async () => {
    const sent: NewDelivery[] = []
    const { one, run, json, url } = await makeStore(async (store, id) => {
      for (let n = 0; n < 30; n++) {
        const marked = payloadOf(MARKER, n % 10 === 0 ? 'x'.repeat(9000) : '')
        sent.push(delivery(id, { orderId: `PO-${n}`, payload: n === 10 ? marked : payloadOf(OTHER), origin }))
      }
      sent.push(delivery(id, { orderId: 'PO-10', payload: sent[10]?.payload as Uint8Array, origin }))
      await deliverAll(store, sent)
      await store.refused.keep(
        [
          refusedBody(id, { orderId: 'PO-10', payload: sent[10]?.payload as Uint8Array }),
          refusedBody(id, { orderId: 'PO-10', payload: payloadOf(OTHER) }),
          refusedBody(id, { orderId: 'PO-11', payload: payloadOf(OTHER) }),
        ],
        { maxBytes: 1e9, notKept: 0 },
      )
      const webhook = newWebhook()
      await store.webhooks.add(webhook)
      const found = await store.deliveries.findByReceipt(sent[10]?.receiptId as string)
      const attempt = { at: Date.now(), status: 500, error: null, milliseconds: 1, nextAt: null }
      const received = { position: found?.position ?? 0, receiptId: found?.receiptId ?? '', response: 'MARKER-answer' }
      await store.webhooks.recordAttempt(webhook.id, { ...attempt, ...received })
    })
    const receiptId = sent[10]?.receiptId as string
    for (const text of ['x'.repeat(500), 'MARKER-answer']) expect(await holding(url, text)).not.toEqual([])
    expect(await json('delivery', 'erase', receiptId, receiptId, '--dry-run')).toEqual({
      dryRun: true,
      deliveries: 2,
      refusedBodies: 1,
    })
    expect(await json('delivery', 'show', receiptId)).not.toHaveProperty('Erased')
    const { unreached, ...counts } = await json('delivery', 'erase', receiptId)
    expect(counts).toEqual({ dryRun: false, deliveries: 2, refusedBodies: 1 })
    // Only what fits the store.
    expect(unreached.filter((each: string) => /backups|VACUUM|pages/.test(each))).toEqual([
      'backups and copies of the store',
      ...(kind === 'sqlite' ? [] : [expect.stringContaining('dead rows until VACUUM (FULL)')]),
    ])
    expect(await holding(url, 'x'.repeat(500))).toEqual([])
    for (const text of [`${MARKER}","more`, 'MARKER-answer'])
      expect([text, await holding(url, text)]).toEqual([text, []])
    const shown = await json('delivery', 'show', receiptId)
    expect(shown).toMatchObject({ ReceiptID: receiptId, OrderID: 'PO-10', Status: 1, Erased: true, Address: null })
    expect(shown).not.toHaveProperty('Payload')
    expect(await json('delivery', 'list')).toHaveLength(31)
    const { stdout } = await run('delivery', 'export')
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.filter(({ Erased }) => Erased).map(({ OrderID }) => OrderID)).toEqual(['PO-10', 'PO-10'])
    expect(lines.filter(({ Payload }) => Payload?.name === OTHER)).toHaveLength(29)
    expect((await json('delivery', 'refused', 'list')).Refusals).toHaveLength(2)
    expect(await json('delivery', 'erase', receiptId)).toMatchObject({ deliveries: 0, refusedBodies: 0 })
    const events = await json('audit', 'list', '--action', 'delivery.erase')
    expect(events).toMatchObject([1, 2].map(() => ({ customerId: one.id, details: { receiptId } })))
  })

  it('an order leaves nothing but receipts, its state and its id, also of what a purge has cut off', async () => {
    const old = Date.now() - 500 * 86_400_000
    const { one, run, json, open, url } = await makeStore(async (store, id) => {
      const aged = (n: number) =>
        receivedAt(old + n, id, { orderId: 'PO-1', payload: payloadOf(MARKER, `${n}`), origin })
      await deliverAll(store, [
        // Came in while the clock was wrong, so a purge keeps it, and removes the one after it.
        delivery(id, { orderId: 'PO-1', payload: payloadOf(MARKER, 'kept'), origin }),
        ...Array.from({ length: 5 }, (_, n) => aged(n)),
        delivery(id, { orderId: 'PO-2', payload: payloadOf(OTHER) }),
        delivery(id, { orderId: 'PO-1', payload: payloadOf(MARKER, 'late'), origin }),
        delivery(id, { orderId: 'PO-1', payload: payloadOf(MARKER, 'late'), origin }),
      ])
      await store.refused.keep(
        [refusedBody(id, { orderId: 'PO-1' }), refusedBody(id, { orderId: 'PO-2', payload: payloadOf(OTHER) })],
        { maxBytes: 1e9, notKept: 0 },
      )
    })
    await open(({ rollUps }) => rollUps.count(100))
    expect(await json('purge', '--older', '400d')).toMatchObject({ deliveries: 5 })
    expect((await json('order', 'show', 'PO-1')).Deliveries).toHaveLength(2)
    expect(await holding(url, MARKER)).not.toEqual([])
    const wanted = { deliveries: 3, refusedBodies: 1 }
    expect(await json('order', 'erase', 'PO-1', '--customer', one.email, '--dry-run')).toEqual({
      dryRun: true,
      ...wanted,
    })
    expect(await json('order', 'erase', 'PO-1', '--customer', one.email)).toMatchObject(wanted)
    expect(await holding(url, MARKER)).toEqual([])
    const shown = await json('order', 'show', 'PO-1')
    expect(shown).toMatchObject({ OrderID: 'PO-1', Status: 1, Deliveries: [{ Erased: true }, { Erased: true }] })
    expect(await holding(url, OTHER)).not.toEqual([])
    expect(await json('order', 'erase', 'PO-1', '--customer', one.email)).toMatchObject({
      deliveries: 0,
      refusedBodies: 0,
    })
    const [event] = await json('audit', 'list', '--action', 'order.erase')
    expect(event).toMatchObject({ customerId: one.id, details: { receiptId: shown.ReceiptID } })
    expect((await run('order', 'erase', 'PO-1')).status).toBe(2)
  })

  it('an order whose state a purge has removed, while a delivery of it is left', async () => {
    const old = Date.now() - 500 * 86_400_000
    const { one, run, json, open, url } = await makeStore(async (store, id) => {
      const of = (n: number) => ({ orderId: 'PO-1', payload: payloadOf(MARKER, `${n}`) })
      await deliverAll(store, [
        // The first came in while the clock was wrong, so a purge keeps it, and removes what made the state.
        delivery(id, of(0)),
        ...[1, 2, 3].map((n) => receivedAt(old + n, id, of(n))),
        delivery(id, { payload: payloadOf(OTHER) }),
      ])
    })
    await open(({ rollUps }) => rollUps.count(100))
    expect(await json('purge', '--older', '400d', '--orders')).toMatchObject({ orders: 1 })
    expect((await run('order', 'show', 'PO-1')).status).toBe(1)
    expect(await holding(url, MARKER)).not.toEqual([])
    expect(await json('order', 'erase', 'PO-1', '--customer', one.id)).toMatchObject({ deliveries: 1 })
    expect(await holding(url, MARKER)).toEqual([])
    expect((await run('order', 'erase', 'PO-2', '--customer', one.id)).status).toBe(1)
  })

  if (kind === 'sqlite') {
    it('what does not exist is named, and nothing is erased', async () => {
      const sent: NewDelivery[] = []
      const { one, run, json } = await makeStore(async (store, id) => {
        sent.push(delivery(id, { orderId: 'PO-1', payload: payloadOf(MARKER) }))
        await deliverAll(store, sent)
      })
      const receiptId = sent[0]?.receiptId as string
      const missing = await run('delivery', 'erase', receiptId, '0199f3c2-8f4e-7c31-9d2a-00000000ffff')
      expect(missing).toMatchObject({ status: 1, stderr: expect.stringContaining('There is no delivery') })
      const order = await run('order', 'erase', 'PO-2', '--customer', one.email)
      expect(order).toMatchObject({ status: 1, stderr: expect.stringContaining('no order "PO-2"') })
      expect(await json('delivery', 'show', receiptId)).toHaveProperty('Payload')
      expect(await json('audit', 'list', '--action', 'delivery.erase')).toEqual([])
    })

    it('a backup taken afterwards holds nothing of it', async () => {
      const sent: NewDelivery[] = []
      const { run } = await makeStore(async (store, id) => {
        sent.push(delivery(id, { orderId: 'PO-1', payload: payloadOf(MARKER), origin }))
        await deliverAll(store, [...sent, delivery(id, { payload: payloadOf(OTHER) })])
      })
      const backup = join(tempFolder(), 'b.db')
      expect((await run('delivery', 'erase', sent[0]?.receiptId as string)).status).toBe(0)
      expect((await run('backup', backup)).status).toBe(0)
      expect(await holding(`sqlite:${backup}`, MARKER)).toEqual([])
      expect(await holding(`sqlite:${backup}`, OTHER)).not.toEqual([])
    })

    it('a restore names what is back, with the command that erases it again, whatever the audit log has of it', async () => {
      const sent: NewDelivery[] = []
      const { one, run, json, open } = await makeStore(async (store, id) => {
        const of = (orderId: string | null, more: string) => delivery(id, { orderId, payload: payloadOf(MARKER, more) })
        sent.push(
          of('PO LATER', 'a'),
          of('PO-ALONE', 'a'),
          of('PO-ALONE', 'b'),
          of('PO-ECHO', 'a'),
          of('PO-ERASED', 'a'),
        )
        sent.push(of('PO-ANNOUNCED', 'a'), of(null, 'a'))
        await deliverAll(store, sent)
        await store.refused.keep([refusedBody(id, { orderId: 'PO-REFUSED' })], { maxBytes: 1e9, notKept: 0 })
      })
      const [later, , alone, echoed, , announced, single] = sent.map(({ receiptId }) => receiptId)
      const eraseOrder = (orderId: string) => json('order', 'erase', orderId, '--customer', one.email)
      await json('delivery', 'erase', alone as string)
      await eraseOrder('PO-ERASED')
      const next = delivery(one.id, { orderId: 'PO-ERASED', payload: payloadOf(OTHER), receivedAt: Date.now() + 1 })
      const details = { receiptId: announced }
      const event = auditEvent({ action: 'order.erase', customerId: one.id, at: Date.now(), details })
      await open(async (store) => {
        await deliverAll(store, [next])
        await store.audit.append([event])
      })
      const backup = join(tempFolder(), 'b.db')
      expect((await run('backup', backup)).status).toBe(0)
      const echo = delivery(one.id, { orderId: 'PO-ECHO', payload: payloadOf(MARKER, 'a') })
      const after = delivery(one.id, { orderId: 'PO LATER', payload: payloadOf(MARKER, 'b') })
      await open(async (store) => {
        const { position = 0 } = (await store.deliveries.findByReceipt(announced as string)) ?? {}
        await store.purges.eraseSome({ customerId: one.id, positions: [position], sameAs: null })
        await deliverAll(store, [echo, after])
      })
      for (const orderId of ['PO LATER', 'PO-ALONE', 'PO-REFUSED']) await eraseOrder(orderId)
      for (const receiptId of [echo.receiptId, single, single]) await json('delivery', 'erase', receiptId as string)
      const { undone } = await json('restore', backup)
      expect(undone.map(({ command }: { command: string }) => command).toSorted()).toEqual([
        `teslim delivery erase ${echoed}`,
        `teslim delivery erase ${single}`,
        `teslim delivery refused list --customer ${one.id}`,
        `teslim order erase --customer ${one.id} -- 'PO LATER'`,
        `teslim order erase --customer ${one.id} -- PO-ALONE`,
        `teslim order erase --customer ${one.id} -- PO-ANNOUNCED`,
      ])
      expect((await run('order', 'erase', '--customer', one.id, '--', 'PO LATER')).status).toBe(0)
      expect(await json('delivery', 'show', later as string)).toMatchObject({ Erased: true })
    })

    it('a restore names a customer whose erasure was under way during the backup, and none that was erased before', async () => {
      const two = customer({ email: `c${nextNumber()}@example.com` })
      const three = customer({ email: `c${nextNumber()}@example.com` })
      const { one, run, json, open } = await makeStore(async (store, id) => {
        for (const each of [two, three]) await store.customers.insert(each)
        const of = (customerId: string, n: number) =>
          delivery(customerId, { orderId: `PO-${n}`, payload: payloadOf(MARKER) })
        await deliverAll(store, [of(id, 1), of(two.id, 2), of(id, 3), of(three.id, 4)])
      })
      await json('customer', 'remove', two.id, '--erase')
      await open(async ({ customers, audit, purges }) => {
        await customers.remove(one.id, { tokenGeneration: 'ended', now: Date.now(), erase: true })
        const event = { action: 'customer.remove', customerId: one.id, at: Date.now(), details: { erase: true } }
        await audit.append([auditEvent(event)])
        expect(await purges.erase(one.id, 0, 2)).toEqual({ deliveries: 1, position: 2 })
      })
      const backup = join(tempFolder(), 'b.db')
      expect((await run('backup', backup)).status).toBe(0)
      await open(({ purges }) => purges.erase(one.id, 2, 100))
      const { undone } = await json('restore', backup)
      const [what, happened] = [`customer ${one.id}`, 'was erased, and has its payloads again']
      expect(undone).toEqual([{ what, happened, command: `teslim customer remove ${one.id} --erase` }])
    })
  } else {
    it('dead rows are left in the files until VACUUM (FULL), and not after it', async () => {
      const sent: NewDelivery[] = []
      const { run, url } = await makeStore(async (store, id) => {
        sent.push(delivery(id, { orderId: 'PO-1', payload: payloadOf(MARKER, 'x'.repeat(9000)), origin }))
        await deliverAll(store, [...sent, delivery(id, { payload: payloadOf(OTHER) })])
      })
      const files = async (): Promise<boolean> => {
        await runSql(url, 'CHECKPOINT')
        const [row] = await runSql(
          url,
          `SELECT bool_or(position($1::bytea IN pg_read_binary_file(pg_relation_filepath(c.oid))) > 0) AS found
             FROM pg_class c WHERE c.relkind IN ('r', 't') AND c.oid >= 16384`,
          [Buffer.from('x'.repeat(500))],
        )
        return row?.found === true
      }
      expect(await files()).toBe(true)
      expect((await run('delivery', 'erase', sent[0]?.receiptId as string)).status).toBe(0)
      expect(await files()).toBe(true)
      await runSql(url, 'VACUUM (FULL) delivery')
      expect(await files()).toBe(false)
    })
  }
})
