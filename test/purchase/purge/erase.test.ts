import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { AppError } from '#src/lib/app-error.ts'
import { eraseDeliveries } from '#src/purchase/purge/erase.rule.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { operating } from '../../support/app/operating.ts'
import { addSupplier, readingSupplier } from '../../support/app/supplier.ts'
import { testApp } from '../../support/app/test-app.ts'
import { holding } from '../../support/faults/remains.ts'
import { runSql, storesOfRun } from '../../support/store/stores.ts'

const TEXT = 'a text about a person'
const failure = (answer: { statusCode: number; json(): { errorCode?: string } }) => [
  answer.statusCode,
  answer.json().errorCode,
]
const NOBODY = '01a1fd40-0c1e-7b52-9a0f-3f5d2c1b7e64'

describe('operators erase', async () => {
  const service = await testApp({ TESLIM_KEEP_REFUSED: 'known' }, { withThreads: true })
  const { app, store, config } = service
  const { post, operator } = await operating(service)
  const { customer, deliver, get } = await readingSupplier(service)
  const body = (OrderID: string, text = TEXT) => ({ OrderID, Status: 2, text, filler: 'more than a digest '.repeat(9) })
  const feedOf = async (receiptId: string) => {
    const { Deliveries } = (await get('/Purchase/feed?limit=500')).json().data
    return Deliveries.find(({ ReceiptID }: { ReceiptID: string }) => ReceiptID === receiptId)
  }

  it('a delivery: everybody sees that it is erased, and a retry still gets its receipt', async () => {
    const headers = { 'Idempotency-Key': randomUUID() }
    const text = 'a text that must go'
    const sent = await deliver(body('PO-1', text), headers)
    const { ReceiptID } = sent
    const url = `/Operator/delivery/${ReceiptID}/erase`
    expect((await post(url, { DryRun: true })).json().data).toMatchObject({ DryRun: true, Deliveries: 1 })
    expect(await feedOf(ReceiptID)).toMatchObject({ Payload: { text } })
    const answer = await post(url, {})
    expect(answer.json().data).toEqual({
      DryRun: false,
      Deliveries: 1,
      RefusedBodies: 0,
      Left: null,
      Unreached: expect.arrayContaining([
        { Message: 'backups and copies of the store', Code: 'UNREACHED_BACKUPS', Values: {} },
      ]),
    })
    expect(await holding(config.databaseUrl, text)).toEqual([])
    const erased = {
      ReceiptID,
      Status: 2,
      Duplicate: false,
      ReceivedAt: sent.ReceivedAt,
      Erased: true,
      OrderID: 'PO-1',
      CustomerID: customer.id,
    }
    expect(await feedOf(ReceiptID)).toEqual(erased)
    const detail = (await get('/Purchase/detail/PO-1?payload=full')).json().data
    expect(detail.Deliveries ?? detail.History).toEqual([expect.objectContaining({ ReceiptID, Erased: true })])
    const shown = (await get(`/Purchase/delivery/${ReceiptID}`)).json().data
    expect(shown).toMatchObject({ ...erased, Address: null, RequestID: null })
    expect(shown).not.toHaveProperty('Payload')
    expect(failure(await get(`/Purchase/delivery/${ReceiptID}/payload`))).toEqual([410, 'PAYLOAD_ERASED'])
    expect(await deliver(body('PO-1', text), headers)).toMatchObject({ ReceiptID, Duplicate: true })
    expect(await deliver(body('PO-1', text))).toMatchObject({ ReceiptID, Duplicate: true })
    expect(await holding(config.databaseUrl, text)).toEqual([])
    const events = await store.audit.list({ customerId: customer.id, action: 'delivery.erase', limit: 9 })
    const event = { actor: `console:${operator.email}`, details: { receiptId: ReceiptID } }
    expect(events).toContainEqual(expect.objectContaining(event))
    expect(JSON.stringify(events)).not.toContain(text)
  })

  it('an order, by the customer that has it, whatever its id', async () => {
    const other = await readingSupplier(service)
    const id = 'PO 2/ü'
    const own = await deliver(body(id))
    await deliver(body(id, `${TEXT}, later`))
    const theirs = await other.deliver(body(id, 'of another customer'))
    const url = `/Operator/order/${encodeURIComponent(id)}/erase`
    expect((await post(url, { Customer: customer.email })).json().data).toMatchObject({ Deliveries: 2, Left: null })
    expect(await feedOf(own.ReceiptID)).toMatchObject({ Erased: true, OrderID: id })
    const left = await other.get(`/Purchase/delivery/${theirs.ReceiptID}`)
    expect(left.json().data).toHaveProperty('Payload')
    const [event] = await store.audit.list({ customerId: customer.id, action: 'order.erase', limit: 9 })
    expect(event).toMatchObject({ orderId: null, details: { receiptId: expect.any(String) } })
  })

  it('bodies of an order that were refused, also if nothing else of it was stored', async () => {
    const supplier = await addSupplier(service)
    const payload = JSON.stringify({ ...body('PO-REFUSED', 'a refused text'), Status: 9 })
    const headers = { ApiKey: supplier.key }
    expect((await app.inject({ method: 'POST', url: '/Purchase/update', headers, payload })).statusCode).toBe(400)
    await app.flushRefusals()
    const url = '/Operator/order/PO-REFUSED/erase'
    const { data } = (await post(url, { Customer: supplier.customer.id })).json()
    expect(data).toMatchObject({ Deliveries: 0, RefusedBodies: 1 })
    expect(failure(await post(url, { Customer: supplier.customer.id }))).toEqual([404, 'ORDER_NOT_FOUND'])
    expect(await holding(config.databaseUrl, 'a refused text')).toEqual([])
  })

  /** Replaces functions of a part of the store until the work is done. */
  async function replacing<Part extends object>(part: Part, by: Partial<Part>, work: () => Promise<void>) {
    const former = Object.fromEntries(Object.keys(by).map((name) => [name, part[name as keyof Part]]))
    Object.assign(part, by)
    try {
      await work()
    } finally {
      Object.assign(part, former)
    }
  }

  it('nothing if it cannot be written into the audit log before', async () => {
    const { ReceiptID } = await deliver(body('PO-AUDIT'))
    const append = () => Promise.reject(new AppError(storeErrors.unavailable))
    await replacing(store.audit, { append }, async () => {
      expect(failure(await post(`/Operator/delivery/${ReceiptID}/erase`, {}))).toEqual([503, 'STORE_UNAVAILABLE'])
      expect(failure(await post('/Operator/order/PO-AUDIT/erase', { Customer: customer.id }))).toEqual([
        503,
        'STORE_UNAVAILABLE',
      ])
    })
    expect(await feedOf(ReceiptID)).toHaveProperty('Payload')
  })

  it('refused bodies of a small delivery, also after an interruption', async () => {
    const payload = Buffer.from('{"OrderID":"PO-SMALL","Status":1}')
    const { ReceiptID } = await deliver(JSON.parse(payload.toString()))
    const refused = {
      refusalId: '01a1fd40-d173-7f02-9c11-00000000beef',
      at: Date.now(),
      customerId: customer.id,
      keyId: NOBODY,
      orderId: 'PO-SMALL',
      errorCode: 'PRODUCT_NOT_AUTHORIZED',
      message: 'No.',
      requestId: 'r',
      address: '192.0.2.9',
      payload,
    }
    await store.refused.keep([refused], { maxBytes: 1e9, notKept: 0 })
    const url = `/Operator/delivery/${ReceiptID}/erase`
    const { eraseSome } = store.purges
    const interrupted: typeof eraseSome = async (scope) => {
      await eraseSome(scope)
      throw new AppError(storeErrors.unavailable)
    }
    await replacing(store.purges, { eraseSome: interrupted }, async () => {
      expect(failure(await post(url, {}))).toEqual([503, 'STORE_UNAVAILABLE'])
    })
    expect((await post(url, {})).json().data).toMatchObject({ Left: null })
    expect(await store.refused.find(refused.refusalId)).toBeUndefined()
  })

  describe('announced before and after each pass, so that a copy begun meanwhile is not continued:', () => {
    /** The steps of an erasure, with equal ones that follow each other as one. */
    async function stepsOf(work: () => Promise<unknown>): Promise<string[]> {
      const steps: string[] = []
      const { announceErasure, eraseSome, erase } = store.purges
      const logged =
        <Args extends unknown[], Result>(step: string, run: (...args: Args) => Promise<Result>) =>
        (...args: Args) => {
          if (steps.at(-1) !== step) steps.push(step)
          return run(...args)
        }
      const logging = {
        announceErasure: logged('announce', announceErasure),
        eraseSome: logged('erase', eraseSome),
        erase: logged('erase', erase),
      }
      await replacing(store.purges, logging, async () => void (await work()))
      return steps
    }
    const wanted = ['announce', 'erase', 'announce', 'erase', 'announce']

    it('a delivery', async () => {
      const { ReceiptID } = await deliver(body('PO-COPY'))
      expect(await stepsOf(() => post(`/Operator/delivery/${ReceiptID}/erase`, {}))).toEqual(wanted)
    })

    it('a customer', async () => {
      const { customer } = await addSupplier(service)
      const dependencies = {
        ...store,
        yielding: <Result>(step: () => Promise<Result>) => step(),
        wait: async () => undefined,
        onProgress: () => undefined,
      }
      expect(await stepsOf(() => eraseDeliveries(dependencies, customer.id))).toEqual(wanted)
    })
  })

  it('within ten seconds of wiping pages: the answer names the command that does the rest', async () => {
    const { ReceiptID } = await deliver(body('PO-LONG'))
    let logs = 0
    const slow = {
      announceErasure: async () => {
        service.clock.time += 10_000
      },
      giveBack: () => Promise.reject(new Error('too late')),
      wipeLog: async () => {
        logs++
        return 'another process reads the log'
      },
    }
    await replacing(store.purges, slow, async () => {
      const { Left } = (await post(`/Operator/delivery/${ReceiptID}/erase`, {})).json().data
      expect(Left).toMatchObject({
        Message: expect.stringContaining(`run "teslim delivery erase ${ReceiptID}" beside the server`),
        Code: 'PAGES_LEFT',
        Values: { command: `"teslim delivery erase ${ReceiptID}"` },
      })
    })
    expect(logs).toBe(3)
  })

  it('nothing that does not exist, and only with all rights', async () => {
    const { ReceiptID } = await deliver(body('PO-3'))
    expect(failure(await post(`/Operator/delivery/${NOBODY}/erase`, {}))).toEqual([404, 'DELIVERY_NOT_FOUND'])
    const order = (Customer: string, id = 'PO-3') =>
      post(`/Operator/order/${encodeURIComponent(id)}/erase`, { Customer })
    expect(failure(await order(NOBODY))).toEqual([404, 'CUSTOMER_NOT_FOUND'])
    expect(failure(await order(customer.id, 'PO-4'))).toEqual([404, 'ORDER_NOT_FOUND'])
    expect(failure(await order(customer.id, 'PO\0'))).toEqual([404, 'ORDER_NOT_FOUND'])
    const reader = await operating(service, { scope: 'operator:read' })
    const refused = await reader.post(`/Operator/delivery/${ReceiptID}/erase`, {})
    expect(failure(refused)).toEqual([403, 'OPERATOR_READ_ONLY'])
    expect(await feedOf(ReceiptID)).toHaveProperty('Payload')
  })
})

it.each(storesOfRun('postgres'))(
  'operators erase nothing where the owner has not granted it: the answer names the command, and nothing is changed',
  async (_, emptyStore) => {
    const service = await testApp(await emptyStore(), { withThreads: true })
    const { store, config } = service
    const { deliver, get } = await readingSupplier(service)
    const role = `service_${randomUUID().replaceAll('-', '')}`
    const rights = `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role};
      GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${role}; REVOKE UPDATE, DELETE ON delivery FROM ${role}`
    await runSql(config.databaseUrl, `CREATE ROLE ${role} LOGIN; ${rights}`)
    const url = new URL(config.databaseUrl)
    url.username = role
    const serving = await testApp({ DATABASE_URL: url.href }, { withThreads: true })
    const operators = await operating(serving)
    const { ReceiptID } = await deliver({ OrderID: 'PO-5', Status: 2, text: TEXT })
    const shown = async () => (await get(`/Purchase/delivery/${ReceiptID}`)).json().data
    const path = `/Operator/delivery/${ReceiptID}/erase`
    const answer = await operators.post(path, {})
    expect(failure(answer)).toEqual([409, 'ERASE_FORBIDDEN'])
    expect(answer.json().message).toContain(`"teslim delivery erase ${ReceiptID}"`)
    expect(await shown()).toHaveProperty('Payload')
    expect(await store.audit.list({ action: 'delivery.erase', requestId: answer.json().requestId, limit: 1 })).toEqual(
      [],
    )
    await runSql(config.databaseUrl, `GRANT EXECUTE ON FUNCTION erase_1 TO ${role}`)
    expect((await operators.post(path, {})).json().data).toMatchObject({ Deliveries: 1, Left: null })
    expect(await shown()).toHaveProperty('Erased', true)
  },
)

describe.each(storesOfRun())('who reads a page while a delivery of it is erased on %s', async (_kind, emptyStore) => {
  const service = await testApp(await emptyStore(), { withThreads: true })
  const { store } = service
  const { deliver, get } = await readingSupplier(service)

  it.each(['/Purchase/feed?payload=full', '/Purchase/detail/PO-1?payload=full'])('%s', async (url) => {
    const { ReceiptID } = await deliver({ OrderID: 'PO-1', Status: 1, text: `${TEXT} ${url}` })
    const delivery = await store.deliveries.findByReceipt(ReceiptID)
    const { payloads, pageAfter } = store.deliveries
    const customerId = delivery?.customerId ?? ''
    const scope = { customerId, positions: [delivery?.position ?? 0], sameAs: null }
    Object.assign(store.deliveries, {
      payloads: async (...wanted: Parameters<typeof payloads>) => {
        await store.purges.eraseSome(scope)
        return payloads(...wanted)
      },
      // In the two steps of the store.
      pageAfter: async (...[after, filter, bounds]: Parameters<typeof pageAfter>) => {
        const found = await store.deliveries.after(after, filter, bounds)
        const positions = found.deliveries.map(({ position }) => position)
        return { ...found, payloads: await store.deliveries.payloads(positions), isCut: false }
      },
    })
    const { data } = (await get(url)).json()
    Object.assign(store.deliveries, { payloads, pageAfter })
    const found = (data.Deliveries ?? data.History).find((each: { ReceiptID: string }) => each.ReceiptID === ReceiptID)
    expect(found).toMatchObject({ Erased: true })
    expect(found).not.toHaveProperty('Payload')
  })
})
