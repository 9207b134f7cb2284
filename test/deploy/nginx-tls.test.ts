import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { operating } from '../support/app/operating.ts'
import { parseAnswers } from '../support/app/raw-http.ts'
import { addSupplier, readingSupplier } from '../support/app/supplier.ts'
import { PASSWORD, testApp } from '../support/app/test-app.ts'
import { atTheEnd } from '../support/at-the-end.ts'
import { published } from '../support/docs/contract.ts'
import { nginxInstalled } from '../support/network/balancer.ts'
import { OPERATORS, SUPPLIERS, startNginxTls } from '../support/network/nginx-tls.ts'
import { freePort } from '../support/postgres/postgres-server.ts'
import { until } from '../support/until.ts'

if (!nginxInstalled) console.info('the nginx file with TLS is not tested: nginx is not installed')

/** The clients of the tests: one of the operators' network, and another one. */
const INSIDE = '127.0.0.1'
const ELSEWHERE = '127.0.0.2'
/** Of somebody who has passed the second factor. */
const PASSED = 'Cookie: factor=second'

/** Starts nginx in front of programs of this machine. */
async function startNginx(ports: { readonly teslim: number; readonly secondFactor?: number }) {
  const { judged, port, ca } = await startNginxTls(ports)
  const exchange = (name: string, bytes: string, localAddress = INSIDE): Promise<string> => {
    const options = { host: '127.0.0.1', port, servername: name, ca, localAddress }
    const socket = connect(options)
    socket.write(bytes, 'latin1')
    return text(socket)
  }
  /** One request on a connection of its own. */
  const send = async (
    name: string,
    path: string,
    lines: readonly string[] = [],
    { method = 'GET', body = '', from = INSIDE } = {},
  ) => {
    const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
    const head = [
      `${method} ${path} HTTP/1.1`,
      `Host: ${name}`,
      'X-Request-Id: same',
      'Connection: close',
      ...length,
      ...lines,
    ]
    return (await exchange(name, `${head.join('\r\n')}\r\n\r\n${body}`, from)).replace(/^date: .*$/im, 'date:')
  }
  await until('nginx answers', () =>
    send(SUPPLIERS, '/livez').then(
      (answer) => answer !== '',
      () => false,
    ),
  )
  return { judged, send, exchange, port, ca }
}

const statusOf = (answer: string): number => Number(answer.split(' ', 2)[1])

describe.runIf(nginxInstalled)('the nginx file with TLS', async () => {
  const service = await testApp({ TESLIM_TRUST_PROXY: 'loopback', TESLIM_OPERATOR_NETWORKS: INSIDE })
  const { app, log } = service
  await app.listen({ port: 0 })
  const teslim = (app.server.address() as AddressInfo).port
  const { send, exchange, judged, port, ca } = await startNginx({ teslim })
  const { customer, key } = await addSupplier(service)
  const token = (await service.login({ Email: customer.email, Password: PASSWORD })).json().data.Token
  const { token: operatorToken } = await operating(service)
  const bearer = `Authorization: Bearer ${token}`
  const operator = `Authorization: Bearer ${operatorToken}`

  it('is taken as it is, without a warning', () => {
    expect(judged).toEqual({ status: 0, said: expect.stringMatching(/test is successful\n$/) })
    expect(judged.said).not.toMatch(/\[(warn|error|crit|alert|emerg)\]/)
  })

  const paths = Object.keys(published.paths).map((path) => path.replaceAll(/\{\w+\}/g, 'x'))
  const isForOperators = (path: string): boolean => /^\/(?:Operator|Webhook)\//.test(path)

  // nginx would stop in the middle of one.
  const UPLOADS = '/Purchase/updates'

  it('passes on every address for suppliers and API customers under their name', async () => {
    const open = [
      ...paths.filter((path) => !isForOperators(path) && path !== UPLOADS),
      '/docs/reference.json',
      '//Purchase/list',
      '/PURCHASE/LIST?limit=1',
      '/?x',
    ]
    expect(open.length).toBeGreaterThan(15)
    for (const path of open) {
      log.length = 0
      await send(SUPPLIERS, path, [bearer])
      expect([path, log.at(-1)?.errorCode]).not.toEqual([path, 'NOT_FOUND'])
    }
    await send(SUPPLIERS, '/Purchase/detail/a%2Fb%20c?customer=%2f', [bearer])
    expect(log.at(-1)).toMatchObject({ route: '/Purchase/detail/:orderId', errorCode: 'CUSTOMER_NOT_FOUND' })
    for (const path of [UPLOADS, '//purchase/UPDATES/'])
      expect(statusOf(await send(SUPPLIERS, path, [`ApiKey: ${key}`], { method: 'POST', body: '{}' }))).toBe(404)
  })

  it('knows no address of operators under the name of suppliers, however it is written', async () => {
    log.length = 0
    const unknown = await send(SUPPLIERS, '/nowhere', [operator])
    expect(unknown).toMatch(/^HTTP\/1\.1 404 [\s\S]*NOT_FOUND/)
    const spellings = [
      '/operator/CUSTOMERS',
      '//Operator/customers',
      '///Operator/customers?a',
      '/%4fperator/customers',
      '/%2fOperator/customers',
      '/./Operator/customers',
      '/Operator/customer/..%2f..%2fPurchase',
      '/Operator/customer/..%2f..%2fPurchase%2flist?x',
      '/Operator/customers/../../Purchase/list',
      '/Purchase/../Operator/customers',
      '/Purchase/%2e%2e/Operator/customers',
      '/Purchase%2f..%2fOperator/customers',
      '/docs/../console',
      '/Webhoo%E2%84%AA/endpoints',
      'http://orders.example.com/Operator/customers',
      '/console',
      '/console/app.js',
      '/CONSOLE/',
      ...paths.filter(isForOperators),
    ]
    for (const path of spellings) {
      for (const method of ['GET', 'POST', 'OPTIONS', 'HEAD']) {
        const answer = await send(SUPPLIERS, path, [operator], { method })
        expect([path, method, statusOf(answer)]).toEqual([path, method, 404])
      }
    }
    for (const path of spellings.filter((each) => !/\.\./.test(each)))
      expect(await send(SUPPLIERS, path, [operator])).toBe(unknown)
    expect(log.filter(({ route }) => /Operator|Webhook|console/.test(String(route)))).toEqual([])
    // A request for no name, and one for a name of nobody, are those of suppliers.
    expect(statusOf(await exchange(OPERATORS, 'GET /console HTTP/1.0\r\n\r\n'))).toBe(404)
    expect(statusOf(await exchange(OPERATORS, 'GET /console HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'))).toBe(
      404,
    )
  })

  it('opens the console under the name of operators, to those whose networks are named', async () => {
    expect(statusOf(await send(OPERATORS, '/console'))).toBe(200)
    expect(statusOf(await send(OPERATORS, '/Operator/customers', [operator]))).toBe(200)
    const forged = [
      'X-Forwarded-For: 127.0.0.1',
      'X-Forwarded-For: 127.0.0.1, 127.0.0.1',
      'Forwarded: for=127.0.0.1',
      'X-Real-IP: 127.0.0.1',
    ]
    const unknown = await send(OPERATORS, '/nowhere', forged, { from: ELSEWHERE })
    expect(await send(OPERATORS, '/console', forged, { from: ELSEWHERE })).toBe(unknown)
    expect(log.at(-1)).toMatchObject({ address: ELSEWHERE, route: null, status: 404 })
    expect(statusOf(await send(OPERATORS, '/Purchase/list', [operator, ...forged], { from: ELSEWHERE }))).toBe(401)
  })

  it('passes on deliveries, and the refusal of one that is too large', async () => {
    const deliver = (body: string) => send(SUPPLIERS, '/Purchase/update', [`ApiKey: ${key}`], { method: 'POST', body })
    const [taken] = parseAnswers(await deliver('{"Status":1,"OrderID":"PO-1"}'))
    expect(taken).toMatchObject({ status: 200, body: { success: true } })
    expect(log.at(-1)).toMatchObject({ address: INSIDE, status: 200 })
    const [refused] = parseAnswers(await deliver(`{"Status":1,"x":"${'x'.repeat(2_000_000)}"}`))
    expect(refused).toMatchObject({ status: 413, body: { errorCode: 'BODY_TOO_LARGE' } })
  })

  /** Sends a request on a connection of its own, and collects what comes back. */
  const begin = (path: string, method: string, headers: Record<string, string>) => {
    const sent = request({
      host: '127.0.0.1',
      port,
      ca,
      servername: SUPPLIERS,
      path,
      method,
      agent: false,
      headers: { Host: SUPPLIERS, ...headers },
    })
    const come: { text: string; status: number; isOver: boolean } = { text: '', status: 0, isOver: false }
    sent.on('response', (response: IncomingMessage) => {
      come.status = response.statusCode ?? 0
      response.setEncoding('utf8').on('data', (part: string) => {
        come.text += part
      })
      response.on('end', () => {
        come.isOver = true
      })
    })
    return { sent, come }
  }

  it('lets a long poll and a stream wait, and passes on each event as it comes', async () => {
    const { token: own, deliver } = await readingSupplier(service)
    const authorization = `Bearer ${own}`
    const stream = begin('/Purchase/feed', 'GET', { authorization, accept: 'text/event-stream' })
    const poll = begin('/Purchase/feed?wait=20', 'GET', { authorization })
    for (const { sent } of [stream, poll]) sent.end()
    await until('both wait', async () => (await service.metrics.text('text')).includes('teslim_feed_followers 2'))
    await deliver({ Status: 1, OrderID: 'PO-2' })
    await until(
      'both have it',
      () => poll.come.isOver && [poll, stream].every(({ come }) => come.text.includes('PO-2')),
    )
    await deliver({ Status: 2, OrderID: 'PO-3' })
    await until('the stream goes on', () => stream.come.text.includes('PO-3'))
    expect([poll.come.status, stream.come.isOver]).toEqual([200, false])
    stream.sent.destroy()
  })
})

describe.runIf(nginxInstalled)('its lines for a second factor', async () => {
  const got: { url: string; method: string; headers: IncomingHttpHeaders }[] = []
  const listening = async (server: Server) => {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    atTheEnd(() => void server.close().closeAllConnections())
    return (server.address() as AddressInfo).port
  }
  const teslim = await listening(
    createServer(async (request, response) => {
      got.push({ url: request.url ?? '', method: request.method ?? '', headers: request.headers })
      response.end(`teslim got ${await text(request)}`)
    }),
  )
  const asked: { url: string; method: string; headers: IncomingHttpHeaders }[] = []
  const guard = createServer((request, response) => {
    asked.push({ url: request.url ?? '', method: request.method ?? '', headers: request.headers })
    const hasPassed = request.headers.cookie === 'factor=second'
    if (request.url === '/oauth2/auth') response.writeHead(hasPassed ? 202 : 401).end()
    else response.end(`the page ${request.url}`)
  })
  const secondFactor = await listening(guard)
  const { send, judged } = await startNginx({ teslim, secondFactor })

  it('are taken as they are', () => {
    expect(judged).toEqual({ status: 0, said: expect.stringMatching(/test is successful\n$/) })
  })

  it.each([
    '/console',
    '/Operator/customers',
    '/operator/customers',
    '//Webhook/endpoints',
    '/',
    '/Login/Customer/Api/Verify',
    '/%63onsole',
    '/oauth2/../console',
    '/oauth2%2f..%2fconsole',
    // Asked for over a connection to the other name.
    'https://office.example.com/console',
  ])('let nobody through to %s under the name of operators who has not passed it', async (path) => {
    got.length = 0
    for (const method of ['GET', 'POST', 'HEAD', 'OPTIONS']) {
      for (const lines of [[], ['Cookie: factor=first'], ['X-Original-URI: /oauth2/'], ['Upgrade: websocket']]) {
        const answer = await send(OPERATORS, path, lines, { method, body: method === 'POST' ? '{}' : '' })
        expect([method, statusOf(answer)]).toEqual([method, 401])
        if (method === 'GET') expect(answer).toContain('the page /oauth2/sign_in')
      }
    }
    expect(got).toEqual([])
  })

  it('let through whoever has, with the body', async () => {
    got.length = 0
    expect(await send(OPERATORS, '/console?a=%2f', [PASSED, 'X-Forwarded-Host: evil.example'])).toMatch(
      /^HTTP\/1\.1 200 [\s\S]*teslim got/,
    )
    expect(await send(OPERATORS, '/Operator/customers', [PASSED], { method: 'POST', body: '{"a":1}' })).toContain(
      'teslim got {"a":1}',
    )
    expect(got.map(({ url, method }) => [url, method])).toEqual([
      ['/console?a=%2f', 'GET'],
      ['/Operator/customers', 'POST'],
    ])
    expect(got[0]?.headers).not.toHaveProperty('x-forwarded-host')
    expect(asked.at(-1)).toMatchObject({
      url: '/oauth2/auth',
      headers: { 'x-forwarded-for': '127.0.0.1', host: OPERATORS },
    })
  })

  it('serve the pages to pass it to everybody, and its question to nobody', async () => {
    expect(await send(OPERATORS, '/oauth2/start?rd=%2Fconsole')).toContain('the page /oauth2/start?rd=%2Fconsole')
    expect(statusOf(await send(OPERATORS, '/oauth2/auth', [PASSED]))).toBe(404)
  })

  it('change nothing for suppliers, for whom the operators addresses are closed with it, too', async () => {
    got.length = 0
    expect(await send(SUPPLIERS, '/Purchase/update', [], { method: 'POST', body: '{}' })).toContain('teslim got {}')
    await send(SUPPLIERS, '/console', [PASSED])
    expect(got.map(({ url }) => url)).toEqual(['/Purchase/update', '/unknown'])
  })
})

describe.runIf(nginxInstalled)('what stands behind it is away:', async () => {
  const { send } = await startNginx({ teslim: await freePort(), secondFactor: await freePort() })

  it('nobody is let through while the second factor cannot be asked', async () => {
    expect(statusOf(await send(OPERATORS, '/console', [PASSED]))).toBe(500)
  })

  it('suppliers are told to come back, in the shape of the refusals of teslim', async () => {
    const [answer] = parseAnswers(await send(SUPPLIERS, '/Purchase/update', [], { method: 'POST', body: '{}' }))
    expect(answer).toMatchObject({ status: 503, body: { errorCode: 'STORE_UNAVAILABLE' } })
    expect(answer?.head).toContain('retry-after: 1')
    expect(answer?.head).toContain(`x-request-id: ${answer?.body.requestId}`)
  })
})
