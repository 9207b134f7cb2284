import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { fetch } from '../support/app/checked-fetch.ts'
import { failure } from '../support/app/failure.ts'
import { hold } from '../support/app/hostile.ts'
import { exchange, parseAnswers } from '../support/app/raw-http.ts'
import { type Balancer, nginxInstalled, startBalancer } from '../support/network/balancer.ts'
import { until } from '../support/until.ts'

if (!nginxInstalled) console.info('the balancer is not tested: nginx is not installed')

/** The requests that the two replicas received, and how they answer. */
let got: { url: string; headers: IncomingHttpHeaders }[] = []
let behave: RequestListener = (_request, response) => void response.end('{}')
beforeEach(() => {
  behave = (_request, response) => void response.end('{}')
})

describe.runIf(nginxInstalled)('the balancer', () => {
  let servers: Server[] = []
  let url = ''
  let balancer: Balancer | undefined

  // It remembers for a while which replicas failed.
  beforeEach(async () => {
    servers = [1, 2].map(() =>
      createServer((request, response) => {
        got.push({ url: request.url ?? '', headers: request.headers })
        behave(request, response)
      }),
    )
    for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening')
    balancer = await startBalancer(servers.map((server) => (server.address() as AddressInfo).port))
    url = balancer.url
    // Without the request that found it ready.
    got = []
  })

  afterEach(async () => {
    await balancer?.stop()
    for (const server of servers) server.close()
  })

  const deliver = (body = '{}', headers = {}) =>
    fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: 'k', ...headers }, body })

  /** Expects a refusal in the envelope with a request id that the balancer made, and returns that id. */
  const expectRefusal = async (answer: Response, errorCode: string): Promise<string | null> => {
    const id = answer.headers.get('x-request-id')
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(id).toMatch(/^[0-9a-f]{32}$/)
    expect(await answer.json()).toEqual({ ...failure(errorCode), requestId: id })
    return id
  }

  it('passes requests on unchanged, except for the headers that name the client', async () => {
    const forged = {
      'x-forwarded-for': '9.9.9.9',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'evil.example',
      'idempotency-key': 'i',
    }
    expect((await deliver('{"a":1}', forged)).status).toBe(200)
    expect(got).toMatchObject([
      {
        url: '/Purchase/update',
        headers: {
          apikey: 'k',
          'idempotency-key': 'i',
          host: new URL(url).host,
          'x-forwarded-for': '127.0.0.1',
          'x-forwarded-proto': 'http',
        },
      },
    ])
    expect(got[0]?.headers).not.toHaveProperty('x-forwarded-host')
  })

  it('passes on at most 512 requests of a client at once, and refuses more in the envelope', async () => {
    behave = ({ url: path }, response) => void (path === '/wait' || response.end('{}'))
    const crowd = await hold({ url }, 512, 'GET /wait HTTP/1.1\r\nHost: a\r\n\r\n')
    await until('all are passed on', () => got.length === 512)
    const refused = await deliver()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    await expectRefusal(refused, 'CONNECTIONS_OVERLOADED')
    crowd.leave()
    await until('they are over', async () => (await deliver()).status === 200)
  })

  it('passes on bodies up to the limit of teslim, and refuses larger ones in the envelope', async () => {
    const limit = loadConfig({}).config.bodyLimitBytes
    behave = (request, response) => void request.resume().on('end', () => response.end('{}'))
    expect((await deliver('x'.repeat(limit + 1))).status).toBe(200)
    expect((await fetch(`${url}/${'x'.repeat(15_000)}`)).status).toBe(200)
    const refused = await deliver('x'.repeat(2 * limit + 1))
    expect(refused.status).toBe(413)
    await expectRefusal(refused, 'BODY_TOO_LARGE')
  })

  it.each([
    [
      'a request that is not HTTP',
      'GET /livez HTTP/1.1\r\nHost: a\r\nX A: b\r\nContent-Length: x\r\n\r\n',
      400,
      'BAD_REQUEST',
    ],
    [
      'a header that is too long',
      `GET / HTTP/1.1\r\nHost: a\r\nA: ${'x'.repeat(40_000)}\r\n\r\n`,
      431,
      'HEADERS_TOO_LARGE',
    ],
    [
      'an address that is too long',
      `GET /${'x'.repeat(40_000)} HTTP/1.1\r\nHost: a\r\nX-Request-Id: a-1\r\n\r\n`,
      431,
      'HEADERS_TOO_LARGE',
    ],
    ['a request line that is not HTTP', 'nonsense\r\n\r\n', 400, 'BAD_REQUEST'],
    ['TRACE', 'TRACE / HTTP/1.1\r\nHost: a\r\n\r\n', 405, 'METHOD_NOT_ALLOWED'],
    [
      'a Transfer-Encoding other than chunked',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n',
      400,
      'UNSUPPORTED_TRANSFER_ENCODING',
    ],
    ['a version of HTTP that is not known', 'GET / HTTP/3.0\r\nHost: a\r\n\r\n', 400, 'HTTP_VERSION_NOT_SUPPORTED'],
  ])('refuses %s in the envelope', async (_name, bytes, status, errorCode) => {
    const [answer] = parseAnswers(await exchange(url, bytes))
    expect(answer).toMatchObject({ status, body: failure(errorCode) })
    expect(answer?.head).toContain(`x-request-id: ${answer?.body.requestId}`)
    expect(answer?.head).toContain('content-type: application/json; charset=utf-8')
  })

  it('keeps the request id of a client, in requests it passes on and in its own refusals', async () => {
    behave = (request) => void request.socket.destroy()
    const answer = await deliver('{}', { 'x-request-id': 'po-1:[2]' })
    expect([answer.headers.get('x-request-id'), await answer.json()]).toMatchObject([
      'po-1:[2]',
      { requestId: 'po-1:[2]' },
    ])
    expect(got).toMatchObject([{ headers: { 'x-request-id': 'po-1:[2]' } }])
    const quoted = await deliver('{}', { 'x-request-id': 'a"b' })
    await expectRefusal(quoted, 'STORE_UNAVAILABLE')
  })

  it('passes on a request of HTTP/1.0 that has no Host', async () => {
    const answer = await exchange(url, 'GET /livez HTTP/1.0\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    expect(got).toMatchObject([{ url: '/livez', headers: { host: expect.stringMatching(/^[\w.:-]+$/) } }])
  })

  it('sends a POST that a replica may have received to no other replica, and answers that it is not confirmed', async () => {
    behave = (request) => void request.socket.destroy()
    const answer = await deliver()
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    const id = await expectRefusal(answer, 'STORE_UNAVAILABLE')
    expect(got.map(({ headers }) => headers['x-request-id'])).toEqual([id])
  })

  it('passes refusals on unchanged', async () => {
    behave = (_request, response) => void response.writeHead(503, { 'retry-after': '7' }).end('{"errorCode":"X"}')
    const answer = await deliver()
    expect([answer.status, answer.headers.get('retry-after'), await answer.text()]).toEqual([
      503,
      '7',
      '{"errorCode":"X"}',
    ])
  })

  it('uses another replica when one cannot be reached', async () => {
    servers[0]?.close().closeAllConnections()
    const answers = await Promise.all(Array.from({ length: 10 }, () => deliver()))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
  })
})
