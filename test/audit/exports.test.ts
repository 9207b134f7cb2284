import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import { readCsv } from '../support/app/csv.ts'
import { failure } from '../support/app/failure.ts'
import { operating } from '../support/app/operating.ts'
import { readingSupplier } from '../support/app/supplier.ts'
import { testApp } from '../support/app/test-app.ts'
import { consoleSession } from '../support/store/store-rows.ts'
import { until } from '../support/until.ts'

const MINUTE = 60_000
const CSV = { accept: 'text/csv' }
const NDJSON = { accept: 'application/x-ndjson' }

/** The lists, and the name of their entries. */
const LISTS = {
  '/Purchase/deliveries': 'Deliveries',
  '/Purchase/list': 'Orders',
  '/Purchase/refusals': 'Refusals',
  '/Operator/customers': 'Customers',
  '/Operator/audit': 'Events',
}

type Entry = Readonly<Record<string, unknown>>

const entriesOf = (ndjson: string): Entry[] =>
  ndjson
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

describe('an export', async () => {
  const start = async () => {
    const service = await testApp({}, { withThreads: true })
    const { store, app } = service
    const operator = await operating(service)
    const supplier = await readingSupplier(service, { email: 'shop@example.com', name: '=1+1' })
    /** The exports in the audit log that are over, the latest first, or those that began. */
    const exported = async (isOver = true) =>
      (await store.audit.list({ action: 'data.export', limit: 1000 }))
        .filter(({ details }) => (details.rows !== undefined) === isOver)
        .reverse()
    /** All entries of a list, page by page. */
    const pages = async (url: string, name: string): Promise<Entry[]> => {
      const all: Entry[] = []
      const read = async (cursor: string): Promise<string | null> => {
        const { data } = (await operator.get(`${url}${url.includes('?') ? '&' : '?'}limit=100&cursor=${cursor}`)).json()
        all.push(...data[name])
        return data.NextCursor
      }
      for (let cursor: string | null = ''; cursor !== null; ) cursor = await read(cursor)
      return all
    }
    /** Adds customers that are more together than sockets hold. */
    const addMany = async (count: number): Promise<void> => {
      const [one] = await store.customers.list({ limit: 1 })
      for (let number = 0; number < count; number++) {
        const each = { id: crypto.randomUUID(), email: `${number}@example.com`, note: 'y'.repeat(40_000) }
        if (one) await store.customers.insert({ ...one, ...each })
      }
    }
    const listen = async (): Promise<number> => {
      await app.listen({ port: 0 })
      return (app.server.address() as AddressInfo).port
    }
    /** Asks on a connection of its own, and reads nothing unless told to. */
    const ask = async (port: number, url: string, token = operator.token) => {
      const socket = connect(port, '127.0.0.1').pause()
      socket.on('error', () => undefined)
      socket.write(
        `GET ${url} HTTP/1.1\r\nhost: x\r\nconnection: close\r\naccept: text/csv\r\nauthorization: Bearer ${token}\r\n\r\n`,
      )
      await once(socket, 'readable')
      return socket
    }
    return { service, operator, supplier, exported, pages, addMany, listen, ask }
  }

  const { service, operator, supplier, exported, pages } = await start()
  const { app, clock } = service
  for (let number = 0; number < 250; number++) {
    clock.time += 1000
    await supplier.deliver({ OrderID: `PO-${number % 120}`, Status: number % 4 })
  }
  for (const ApiKey of ['tsl_unknown', supplier.key])
    await app.inject({ method: 'POST', url: '/Purchase/update', headers: { ApiKey }, payload: '{"Status":9}' })
  await app.flushRefusals()

  it.each(Object.entries(LISTS))('of %s has what its pages have, as NDJSON and as CSV', async (url, name) => {
    const expected = await pages(url, name)
    const ndjson = await operator.get(url, NDJSON)
    expect(ndjson.headers).toMatchObject({
      'content-type': 'application/x-ndjson; charset=utf-8',
      'content-disposition': `attachment; filename="${name.toLowerCase()}.ndjson"`,
      'cache-control': 'no-store, no-transform',
    })
    expect(entriesOf(ndjson.payload)).toEqual(expected)

    const filter = url === '/Operator/audit' ? '?action=delivery.' : ''
    const csv = await operator.get(url + filter, CSV)
    expect(csv.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name.toLowerCase()}.csv"`,
    })
    const [heading = [], ...rows] = readCsv(csv.payload.replace(/^sep=,\r\n/, ''))
    expect(csv.payload.slice(0, 7)).toBe('sep=,\r\n')
    expect(heading).toEqual(expect.arrayContaining(Object.keys(expected[0] ?? {})))
    const shown = filter === '' ? expected : await pages(url + filter, name)
    expect(rows).toHaveLength(shown.length)
    const cell = (row: readonly string[], column: string) => row[heading.indexOf(column)]
    for (const column of ['ReceiptID', 'OrderID', 'RefusalID', 'CustomerID', 'At'].filter((each) =>
      heading.includes(each),
    ))
      expect(rows.map((row) => cell(row, column))).toEqual(shown.map((entry) => entry[column] ?? ''))
  })

  it('has what the filters say, and begins after the cursor', async () => {
    const url = '/Purchase/deliveries?status=2&customer=shop@example.com'
    const expected = await pages(url, 'Deliveries')
    expect(expected.length).toBeGreaterThan(50)
    expect(entriesOf((await operator.get(`${url}&limit=1`, NDJSON)).payload)).toEqual(expected)
    const { NextCursor } = (await operator.get(`${url}&limit=20`)).json().data
    expect(entriesOf((await operator.get(`${url}&cursor=${NextCursor}`, NDJSON)).payload)).toEqual(expected.slice(20))
  })

  it('holds no formula, wherever a text comes from', async () => {
    const csv = (await operator.get('/Operator/customers?search=shop', CSV)).payload
    expect(csv).toContain(`"'=1+1"`)
  })

  it('of nothing has the headings only', async () => {
    expect((await operator.get('/Purchase/refusals?code=NONE', NDJSON)).payload).toBe('')
    expect((await operator.get('/Purchase/refusals?code=NONE', CSV)).payload.split('\r\n')).toHaveLength(3)
  })

  it('is in the audit log when it begins and when it is over, which keeps no text that may have to be forgotten', async () => {
    clock.time += 60_000
    await operator.get('/Purchase/deliveries?status=2&customer=shop@example.com&orderId=PO-2&from=2026-01-01', CSV)
    const [event] = await exported()
    expect(event).toMatchObject({
      at: clock.now(),
      actor: `console:${operator.operator.email}`,
      action: 'data.export',
      customerId: supplier.customer.id,
      details: { list: 'deliveries', format: 'csv', complete: true, rows: 3 },
    })
    expect(event?.details.filter).toBe('status 2, orderId given, from 2026-01-01')
    await operator.get('/Operator/customers?search=shop', NDJSON)
    expect((await exported())[0]).toMatchObject({
      customerId: null,
      details: { list: 'customers', format: 'ndjson', rows: 1, complete: true, filter: 'search given' },
    })
    const before = (await exported()).length
    await operator.get('/Operator/customers')
    await operator.get('/Operator/customers', { accept: '*/*' })
    await app.inject({
      method: 'HEAD',
      url: '/Operator/customers',
      headers: { ...CSV, authorization: `Bearer ${operator.token}` },
    })
    expect(await exported()).toHaveLength(before)
    const begun = (await exported(false)).slice(0, 2).map(({ details }) => details)
    expect(begun).toEqual([
      { list: 'customers', format: 'ndjson', filter: 'search given' },
      { list: 'deliveries', format: 'csv', filter: 'status 2, orderId given, from 2026-01-01' },
    ])
    expect(await exported(false)).toHaveLength(before)
  })

  it.each(['keyId=tsl_secret', 'action=Ay%C5%9Fe'])('keeps no text of %s', async (query) => {
    expect((await operator.get(`/Operator/audit?${query}`, CSV)).statusCode).toBe(200)
    expect((await exported())[0]?.details.filter).toBe(`${query.split('=')[0]} given`)
  })

  it('sends nothing if the audit log cannot be written before', async () => {
    vi.spyOn(service.store.audit, 'append').mockRejectedValueOnce(new Error('lost'))
    const answer = await operator.get('/Operator/customers', CSV)
    expect([answer.statusCode, answer.json()]).toEqual([
      503,
      failure('STORE_UNAVAILABLE', { messageCode: 'ACTION_NOT_DONE', messageValues: {} }),
    ])
  })

  it('of customers that are named by their ids is a file, too', async () => {
    const csv = (await operator.get(`/Operator/customers?ids=${supplier.customer.id}`, CSV)).payload
    expect(csv.split('\r\n')).toHaveLength(4)
  })

  it('that cannot begin is refused, and recorded nowhere', async () => {
    const before = (await exported()).length
    const none = await operator.get('/Purchase/deliveries?customer=nobody@example.com', CSV)
    expect([none.statusCode, none.json()]).toEqual([404, failure('CUSTOMER_NOT_FOUND')])
    expect((await operator.get('/Purchase/list?cursor=cx', CSV)).json()).toEqual(failure('CURSOR_INVALID'))
    expect(await exported()).toHaveLength(before)
  })

  it('is for operators: others get a page as before', async () => {
    for (const url of ['/Purchase/deliveries', '/Purchase/list', '/Purchase/refusals'])
      expect((await supplier.get(url, CSV)).json()).toEqual((await supplier.get(url)).json())
    const headers = { ApiKey: supplier.key, ...CSV }
    expect((await app.inject({ url: '/Supplier/deliveries', headers })).json().data.Deliveries).toHaveLength(50)
  })

  it('shows support no more than its lists: no payloads, no audit log', async () => {
    const support = await operating(service, { scope: 'operator:support' })
    const csv = (await support.get('/Purchase/deliveries', CSV)).payload
    expect(csv.split('\r\n')[1]).not.toContain('Payload')
    expect((await support.get('/Purchase/deliveries?product=A', CSV)).json()).toEqual(failure('PAYLOADS_NOT_ALLOWED'))
    expect((await support.get('/Purchase/list?product=A', NDJSON)).json()).toEqual(failure('PAYLOADS_NOT_ALLOWED'))
    expect((await support.get('/Operator/audit', CSV)).statusCode).toBe(403)
    expect((await exported())[0]).toMatchObject({ actor: `console:${support.operator.email}` })
  })

  it('reads a page when the one before has been taken, and delays no delivery meanwhile', async () => {
    const { service, supplier, exported, addMany, listen, ask } = await start()
    const { store } = service
    await addMany(500)
    const port = await listen()
    const read = vi.spyOn(store.customers, 'search')
    const socket = await ask(port, '/Operator/customers?search=yyy')
    await supplier.deliver({ OrderID: 'PO-1', Status: 1 })
    const calls = () => read.mock.calls.length
    const first = calls()
    expect(first).toBeLessThanOrEqual(3)
    const lines = socket.toArray().then((chunks) => Buffer.concat(chunks).toString().split('\r\n'))
    expect((await lines).filter((line) => line.includes('yyy'))).toHaveLength(500)
    expect(calls()).toBeGreaterThan(first)
    expect((await exported())[0]?.details).toMatchObject({ rows: 500, complete: true })
  })

  it('ends when its client leaves, when its token ends and when the server stops, and the audit log says so', async () => {
    const { service, operator, exported, addMany, listen, ask } = await start()
    await addMany(500)
    const port = await listen()
    const brokenOff = async (count: number) => {
      const all = await exported()
      return all.filter(({ details }) => details.complete === false).length === count
    }
    const leaver = await ask(port, '/Operator/customers')
    leaver.destroy()
    await until('the first is recorded', () => brokenOff(1))
    const other = await operating(service)
    const revoked = await ask(port, '/Operator/customers', other.token)
    expect((await operator.post(`/Operator/customer/${other.operator.id}/revokeTokens`)).statusCode).toBe(200)
    await until('the second is recorded', () => brokenOff(2))
    revoked.destroy()
    const last = await ask(port, '/Operator/customers')
    await Promise.all([service.app.close(), once(last.resume(), 'close')])
    await until('the third is recorded', () => brokenOff(3))
  })

  it('goes on after its token as long as the session of it, and ends with the session, its operator or a token of none', async () => {
    const { service, operator, exported, addMany, listen, ask } = await start()
    const { app, clock, store } = service
    await addMany(500)
    // Nobody is disconnected for reading nothing for so long.
    vi.spyOn(clock, 'monotonic').mockReturnValue(clock.time)
    const port = await listen()
    /** A token of five minutes, of a session that ends after half an hour; or one of a login. */
    const begin = async (isOfSession = true) => {
      const { operator: added, token } = await operating(service)
      const other = await app.currentCustomers.findById(added.id)
      if (other === undefined) throw new Error('no operator')
      const session = consoleSession(other.id, {
        idleUntil: clock.now() + 30 * MINUTE,
        endsAt: clock.now() + 40 * MINUTE,
      })
      const how = { tokenGeneration: other.tokenGeneration, formers: [], most: 10, now: clock.now() }
      await store.consoleSessions.begin(session, how)
      const until = Math.floor(clock.now() / 1000) + 300
      const issued = await app.accessTokens.issue(other, 'TR', { id: session.id, authAt: until, until })
      return { other, session, socket: await ask(port, '/Operator/customers', isOfSession ? issued.token : token) }
    }
    const pass = async (milliseconds: number) => {
      clock.time += milliseconds
      await app.accessWatch.check()
    }
    const [whole, late] = [await begin(), await begin()]
    await pass(6 * MINUTE)
    expect(await exported()).toEqual([])
    await whole.socket.toArray()
    await until('it is recorded', async () => (await exported())[0]?.details.complete === true)

    await pass(23 * MINUTE)
    await store.consoleSessions.renew(late.session.digest, clock.now() + 10 * MINUTE, clock.now())
    await pass(2 * MINUTE)
    expect(await exported()).toHaveLength(1)
    await pass(10 * MINUTE)
    await until('it is cut', async () => (await exported())[0]?.details.complete === false)

    const disabled = await begin()
    await pass(6 * MINUTE)
    expect((await operator.post(`/Operator/customer/${disabled.other.id}/disable`)).statusCode).toBe(200)
    await until('it is cut', async () => (await exported()).length === 3)
    const [ended] = await exported()
    expect(ended).toMatchObject({ actor: `console:${disabled.other.email}`, details: { complete: false } })

    await begin(false)
    await pass(60 * MINUTE)
    await until('it is cut', async () => (await exported()).length === 4)
    expect((await exported())[0]?.details.complete).toBe(false)
  })

  it('is one of four at a time, two of one operator: a further one is refused until one of them ends', async () => {
    const { service, operator, addMany, listen, ask } = await start()
    await addMany(500)
    const port = await listen()
    const [one, other] = [await operating(service), await operating(service)]
    const tokens = [one.token, one.token, other.token, other.token]
    const sockets = await Promise.all(tokens.slice(0, 2).map((token) => ask(port, '/Operator/customers', token)))
    expect((await one.get('/Operator/customers', CSV)).json()).toMatchObject({ errorCode: 'ANSWERS_OVERLOADED' })
    for (const token of tokens.slice(2)) sockets.push(await ask(port, '/Operator/customers', token))
    const full = await operator.get('/Operator/customers', CSV)
    expect([full.statusCode, full.headers['retry-after'], full.json()]).toEqual([
      503,
      '10',
      failure('ANSWERS_OVERLOADED', { messageCode: 'EXPORTS_FULL', messageValues: {} }),
    ])
    expect((await operator.get('/Operator/customers')).statusCode).toBe(200)
    sockets.pop()?.destroy()
    await until('another one may begin', async () => (await operator.get('/Purchase/refusals', CSV)).statusCode === 200)
    for (const socket of sockets) socket.destroy()
  })

  it('that cannot go on ends without its end, so that nobody takes a part for all', async () => {
    const { service, addMany, listen, ask, exported } = await start()
    await addMany(150)
    const port = await listen()
    const { search } = service.store.customers
    vi.spyOn(service.store.customers, 'search').mockImplementationOnce(search).mockRejectedValueOnce(new Error('lost'))
    const socket = await ask(port, '/Operator/customers')
    const text = Buffer.concat(await socket.toArray().catch(() => [])).toString()
    // The last chunk of a whole answer is empty.
    expect(text).not.toMatch(/\r\n0\r\n\r\n$/)
    await until('it is recorded', async () => (await exported())[0]?.details.complete === false)
  })
})
