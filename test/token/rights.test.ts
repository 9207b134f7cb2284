import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { failure } from '../support/app/failure.ts'
import { operating } from '../support/app/operating.ts'
import { readingSupplier } from '../support/app/supplier.ts'
import { registeredRoutes, testApp } from '../support/app/test-app.ts'

const ROLES = [
  { scope: 'customer' },
  { scope: 'feed' },
  { scope: 'operator:support' },
  { scope: 'operator:support', payloads: true },
  { scope: 'operator:read' },
  { scope: 'operator' },
] as const

const page = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8')
const section = page.slice(page.indexOf('## Who may do what'), page.indexOf('## The machine, the backups'))
/** Routes in the first cell of each row, and the other cells. */
const rows = Array.from(section.matchAll(/^\| (`.*) \|$/gm), ([, row = '']) => {
  const [routes = '', ...cells] = row.split(' | ')
  return { routes: Array.from(routes.matchAll(/`([^`]+)`/g), ([, route = '']) => route), cells }
}).filter(({ routes }) => routes.some((route) => route.includes(' /')))

const rowOf = (route: string) => {
  const fits = (named: string): boolean =>
    named.endsWith('/*') ? route.startsWith(named.slice(0, -1)) : named.replace(/\?.*/, '') === route
  const exact = rows.find(({ routes }) => routes.includes(route))
  return exact ?? rows.find(({ routes }) => routes.some(fits))
}

describe('rights', async () => {
  const service = await testApp()
  const { app, clock, store } = service
  const supplier = await readingSupplier(service)
  const secret = '{"OrderID":"PO-1","Status":1,"ProductID":"SECRET-1","Note":"hidden words"}'
  const { ReceiptID } = await supplier.deliver(secret)
  const callers = await Promise.all(ROLES.map((role) => operating(service, role)))

  it('every registered route is in the tables of docs/security.md, and each scope gets there what they say', async () => {
    const routes = [...registeredRoutes].filter((route) => !/^(HEAD|OPTIONS) /.test(route))
    expect(routes.length).toBeGreaterThan(60)
    expect(routes.filter((route) => rowOf(route) === undefined)).toEqual([])
    const named = rows.flatMap(({ routes }) => routes).filter((route) => !route.endsWith('*'))
    expect(named.filter((route) => !routes.includes(route.replace(/\?.*/, '')))).toEqual([])
    const asked = new Set([...routes, ...named.filter((route) => route.includes('?'))])
    for (const route of asked) {
      const { cells } = rowOf(route) ?? { cells: [] }
      const [method, path = ''] = route.split(' ')
      const url = path.replace(':receiptId', ReceiptID).replace('*', 'x').replaceAll(/:\w+/g, supplier.customer.id)
      for (const [index, { token }] of callers.entries()) {
        const headers = { authorization: `Bearer ${token}` }
        const answer = await app.inject({ method: method as 'GET', url, headers })
        const got = answer.statusCode === 403 ? '–' : answer.statusCode === 401 ? 'nothing' : 'all'
        const cell = cells.length === 1 ? cells[0] : cells[index]
        const expected =
          cell === '–' || cell?.startsWith('a page of the console') ? '–' : cell === 'an API key' ? 'nothing' : 'all'
        expect([route, ROLES[index], got]).toEqual([route, ROLES[index], expected])
      }
    }
  })

  it('a follower of the feed reads deliveries of all customers, and nothing else of them', async () => {
    const [, feed] = callers
    const page = (await feed?.get('/Purchase/feed'))?.json().data
    expect(page.Deliveries).toMatchObject([
      { ReceiptID, CustomerID: supplier.customer.id, Payload: { Note: 'hidden words' } },
    ])
    expect((await feed?.get(`/Purchase/feed?customer=${supplier.customer.id}`))?.json().data.Deliveries).toHaveLength(1)
    expect((await feed?.get(`/Purchase/delivery/${ReceiptID}/payload`))?.payload).toBe(secret)
    const sender = { KeyID: null, KeyLabel: null, Address: null, RequestID: null }
    expect((await feed?.get(`/Purchase/delivery/${ReceiptID}`))?.json().data).toMatchObject({ ReceiptID, ...sender })
    expect((await feed?.get('/Purchase/list'))?.json()).toEqual(failure('FEED_ONLY'))
    const me = { Scope: 'feed', SeesPayloads: true, IsOperator: false, IsReadOnly: false }
    expect((await feed?.get('/Customer/Get'))?.json().data).toMatchObject(me)
  })

  it('support without payloads gets none on any way, and its tries are in the audit log', async () => {
    const [, , support, withPayloads] = callers
    const me = { Scope: 'operator:support', SeesPayloads: false, IsOperator: true, IsReadOnly: true }
    expect((await support?.get('/Customer/Get'))?.json().data).toMatchObject(me)
    expect((await withPayloads?.get('/Customer/Get'))?.json().data).toMatchObject({ ...me, SeesPayloads: true })
    const allowed = [
      `/Purchase/delivery/${ReceiptID}`,
      '/Purchase/list',
      '/Purchase/detail/PO-1',
      '/Purchase/deliveries',
      '/Purchase/refusals',
      '/Operator/live',
      '/Operator/customers',
    ]
    for (const url of allowed) {
      const answer = await support?.get(url)
      expect([url, answer?.statusCode]).toEqual([url, 200])
      expect(answer?.payload).not.toMatch(/hidden words|SECRET/)
    }
    expect((await support?.post('/Operator/find', { Text: 'PO-1' }))?.json().data.Matches).toMatchObject([
      { Kind: 'order' },
    ])
    expect((await withPayloads?.get(`/Purchase/delivery/${ReceiptID}`))?.payload).toContain('hidden words')
    const refused = {
      '/Purchase/detail/:orderId': '/Purchase/detail/PO-1?payload=full',
      '/Purchase/list': '/Purchase/list?product=SECRET-1',
      '/Purchase/deliveries': '/Purchase/deliveries?product=SECRET-1',
      '/Purchase/delivery/:receiptId/payload': `/Purchase/delivery/${ReceiptID}/payload`,
      '/Purchase/refusal/:refusalId/payload': `/Purchase/refusal/${ReceiptID}/payload`,
      '/Purchase/feed': '/Purchase/feed?payload=none',
    }
    for (const [route, url] of Object.entries(refused)) {
      // The log has a limit a minute for each code.
      clock.time += 60_000
      const answer = await support?.get(url)
      expect([url, answer?.statusCode, answer?.json()]).toEqual([url, 403, failure('PAYLOADS_NOT_ALLOWED')])
      await app.flushRefusals()
      const [event] = await store.audit.list({ limit: 1, action: 'operator.refused' })
      expect(event).toMatchObject({
        at: clock.now(),
        customerId: support?.operator.id,
        details: { errorCode: 'PAYLOADS_NOT_ALLOWED', reason: `GET ${route}` },
      })
      expect((await withPayloads?.get(url))?.statusCode).not.toBe(403)
    }
  })
})
