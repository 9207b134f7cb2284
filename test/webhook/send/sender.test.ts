import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { readProxies } from '#src/webhook/send/proxies.ts'
import { makeCertificate } from '../../support/network/certificate.ts'
import { until } from '../../support/until.ts'
import { answerRaw, receive, sender, sending } from './receiver.ts'

const FAILURE = { status: null, retryAfterMilliseconds: null, gone: false, response: null }
const answered = (status: number, head = '', body = 'ok'): string =>
  `HTTP/1.1 ${status} X\r\nContent-Length: ${body.length}\r\n${head}\r\n${body}`

describe('an attempt', () => {
  it('posts the body with the headers given, and succeeds with 2xx', async () => {
    const { port, received } = await receive((_request, response) => response.writeHead(201).end('thanks'))
    const outcome = await sender().send(sending(`http://127.0.0.1:${port}/a%20b?c=d`))
    expect(outcome).toEqual({
      status: 201,
      error: null,
      retryAfterMilliseconds: null,
      gone: false,
      milliseconds: expect.any(Number),
      response: 'thanks',
    })
    expect(received).toEqual([
      {
        method: 'POST',
        url: '/a%20b?c=d',
        headers: {
          host: `127.0.0.1:${port}`,
          connection: 'keep-alive',
          'content-type': 'application/json',
          'content-length': '22',
          'webhook-id': 'msg_1',
        },
        body: '{"type":"teslim.test"}',
      },
    ])
  })

  it.each([
    [200, { status: 200, error: null }],
    [204, { status: 204, error: null, response: null }],
    [299, { status: 299, error: null }],
    [304, { status: 304, error: 'status 304', response: null }],
    [400, { status: 400, error: 'status 400', gone: false }],
    [404, { status: 404, error: 'status 404' }],
    [410, { status: 410, error: 'status 410', gone: true }],
    [500, { status: 500, error: 'status 500' }],
    [599, { status: 599, error: 'status 599' }],
  ])('that is answered %i', async (status, outcome) => {
    const { port } = await receive((_request, response) => response.writeHead(status).end('ok'))
    expect(await sender().send(sending(`http://127.0.0.1:${port}/`))).toMatchObject(outcome)
  })

  it.each([301, 302, 303, 307, 308])('follows no redirect with %i', async (status) => {
    const other = await receive()
    const { port, received } = await receive((_request, response) =>
      response.writeHead(status, { location: `http://127.0.0.1:${other.port}/` }).end(),
    )
    expect(await sender().send(sending(`http://127.0.0.1:${port}/`))).toMatchObject({
      status,
      error: `status ${status}, redirects are not followed`,
    })
    expect(received).toHaveLength(1)
    expect(other.received).toEqual([])
  })

  it('fails with plain words when nobody listens', async () => {
    const { port, sockets } = await receive()
    expect(sockets.size).toBe(0)
    const closed = await sender().send(sending(`http://127.0.0.1:${port === 1 ? 2 : 1}/`))
    expect(closed).toEqual({ ...FAILURE, error: 'connection refused', milliseconds: expect.any(Number) })
  })

  it('fails at the end of its time, and the connection is closed', async () => {
    const { port, sockets } = await receive(() => undefined)
    const client = sender({ timeoutMilliseconds: 50 })
    expect(await client.send(sending(`http://127.0.0.1:${port}/`))).toMatchObject({
      ...FAILURE,
      error: 'no answer within 0.05 s',
    })
    await until('the server sees the end', () => sockets.size === 0)
  })

  it('has its connections ended by close, which is an error of that attempt and of later ones', async () => {
    const { port, sockets, received } = await receive(() => undefined)
    const client = sender()
    const attempts = [1, 2, 3].map(() => client.send(sending(`http://127.0.0.1:${port}/`)))
    await until('all have arrived', () => received.length === 3)
    await client.close()
    for (const { error } of await Promise.all(attempts)) expect(error).toBe('the service is stopping')
    expect(await client.send(sending(`http://127.0.0.1:${port}/`))).toMatchObject({ error: 'the service is stopping' })
    await until('the server sees the end', () => sockets.size === 0)
  })

  it('keeps the connection for the next one', async () => {
    const { port, connections } = await receive()
    const client = sender()
    for (let i = 0; i < 5; i += 1) {
      expect(await client.send(sending(`http://127.0.0.1:${port}/`))).toMatchObject({ status: 200 })
    }
    expect(connections()).toBe(1)
  })

  it('with a header or URL that cannot be sent fails in words', async () => {
    const { port, received } = await receive()
    const url = `http://127.0.0.1:${port}/`
    expect(await sender().send(sending(url, { headers: { a: 'b\r\nc: d' } }))).toMatchObject({
      ...FAILURE,
      error: 'invalid a header',
    })
    expect(await sender().send(sending('gopher://a/'))).toMatchObject({
      ...FAILURE,
      error: 'The URL does not have the form https://HOST/PATH.',
    })
    expect(received).toEqual([])
  })
})

describe('TLS', () => {
  it('is verified with an own authority, for a name and for an address', async () => {
    const certificate = makeCertificate()
    const { port } = await receive(undefined, { certificate })
    const ca = certificate.certificate
    const client = sender()
    expect(await client.send(sending(`https://127.0.0.1:${port}/`, { ca }))).toMatchObject({ status: 200 })
    expect(await client.send(sending(`https://localhost:${port}/`, { ca }))).toMatchObject({ status: 200 })
    expect(await client.send(sending(`https://127.0.0.1:${port}/`))).toMatchObject({ error: 'self-signed certificate' })
    const other = makeCertificate().certificate
    expect((await client.send(sending(`https://127.0.0.1:${port}/`, { ca: other }))).error).toMatch(/certificate/)
  })

  it('is verified with any of several authorities, and fails in words with a text that is none', async () => {
    const certificate = makeCertificate()
    const { port } = await receive(undefined, { certificate })
    const client = sender()
    const several = makeCertificate({ commonName: 'another' }).certificate + certificate.certificate
    expect(await client.send(sending(`https://127.0.0.1:${port}/`, { ca: several }))).toMatchObject({ status: 200 })
    for (const ca of ['', 'none', '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n']) {
      const { status, error } = await client.send(sending(`https://127.0.0.1:${port}/`, { ca }))
      expect(status).toBeNull()
      expect(error).toMatch(/certificate|PEM|TLS failed/i)
    }
  })

  it('with an own authority trusts none of those that Node trusts', async () => {
    const certificate = makeCertificate()
    const { port } = await receive(undefined, { certificate })
    const before = getCACertificates('default')
    onTestFinished(() => setDefaultCACertificates(before))
    setDefaultCACertificates([...before, certificate.certificate])
    const client = sender()
    const statusWith = async (ca: string | null) =>
      (await client.send(sending(`https://127.0.0.1:${port}/`, { ca }))).status
    expect(await statusWith(null)).toBe(200)
    for (const ca of ['', 'none', makeCertificate({ commonName: 'another' }).certificate]) {
      expect(await statusWith(ca)).toBeNull()
    }
  })

  it('is refused when the certificate is for another name, or has expired', async () => {
    const client = sender()
    const foreign = makeCertificate({ names: ['other.example'], addresses: [] })
    const first = await receive(undefined, { certificate: foreign })
    const url = `https://localhost:${first.port}/`
    expect((await client.send(sending(url, { ca: foreign.certificate }))).error).toMatch(/altnames.*other\.example/)
    const expired = makeCertificate({ until: Date.now() - 60_000 })
    const second = await receive(undefined, { certificate: expired })
    const { error } = await client.send(sending(`https://127.0.0.1:${second.port}/`, { ca: expired.certificate }))
    expect(error).toBe('certificate has expired')
    expect([...first.received, ...second.received]).toEqual([])
  })

  it('is verified although NODE_TLS_REJECT_UNAUTHORIZED=0 is set', async () => {
    const { port, received } = await receive(undefined, { certificate: makeCertificate() })
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { error } = await sender().send(sending(`https://127.0.0.1:${port}/`))
    expect([error, received]).toEqual(['self-signed certificate', []])
  })

  it('with a server that says nothing ends with the time, through a proxy and a tunnel too, and every connection is closed', async () => {
    const silent = await answerRaw(() => undefined)
    const proxy = await answerRaw(
      (socket, data) => data.startsWith('CONNECT') && socket.write('HTTP/1.1 200 OK\r\n\r\n'),
    )
    const ways = [
      [`https://127.0.0.1:${silent.port}/`, {}],
      ['https://shop.example/', { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` }],
      ['https://shop.example/', { HTTPS_PROXY: `https://127.0.0.1:${silent.port}` }],
    ] as const
    for (const [url, variables] of ways) {
      const client = sender({ timeoutMilliseconds: 300, proxies: readProxies(variables) })
      expect((await client.send(sending(url))).error).toBe('no answer within 0.3 s')
      await until('all is closed', () => silent.sockets.size + proxy.sockets.size === 0)
    }
    expect([silent.connections(), proxy.connections()]).toEqual([2, 1])
  })

  it('with a server that speaks none fails in words', async () => {
    const { port } = await answerRaw((socket) => socket.end(answered(200)))
    const { error } = await sender().send(sending(`https://127.0.0.1:${port}/`))
    expect(error).toMatch(/^TLS failed: /)
  })
})
