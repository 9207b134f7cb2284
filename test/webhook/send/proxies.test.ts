import { createServer, request as forward, type IncomingMessage } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { connect, type Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAddressRule } from '#src/webhook/send/address-rule.ts'
import { readProxies } from '#src/webhook/send/proxies.ts'
import { readTarget } from '#src/webhook/send/target.ts'
import { type Made, makeCertificate } from '../../support/network/certificate.ts'
import { until } from '../../support/until.ts'
import { answerRaw, listen, receive, sender, sending } from './receiver.ts'

interface Asked {
  readonly line: string
  readonly host: string | undefined
  readonly authorization: string | undefined
}

/** A proxy that reaches one server on this machine, whatever host it is asked for. */
async function startProxy(serverPort: number, certificate?: Made) {
  const asked: Asked[] = []
  const server = certificate
    ? createSecureServer({ cert: certificate.certificate, key: certificate.key })
    : createServer()
  const note = ({ method, url, headers }: IncomingMessage): void => {
    asked.push({ line: `${method} ${url}`, host: headers.host, authorization: headers['proxy-authorization'] })
  }
  server.on('connect', (request, client: Socket) => {
    note(request)
    const upstream = connect(serverPort, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      client.pipe(upstream).pipe(client)
    })
    for (const socket of [upstream, client]) socket.on('error', () => upstream.destroy())
    client.on('close', () => upstream.destroy())
  })
  server.on('request', (request, response) => {
    note(request)
    const { pathname, search } = new URL(request.url ?? '')
    const options = { port: serverPort, method: request.method, path: pathname + search, headers: request.headers }
    request.pipe(forward(options, (answer) => answer.pipe(response.writeHead(answer.statusCode ?? 500))))
  })
  return { ...(await listen(server)), asked }
}

const shop = makeCertificate({ names: ['shop.example'], addresses: [] })
const ca = shop.certificate
const neverResolve = (): Promise<never> => Promise.reject(new Error('resolved although there is a proxy'))

describe('a proxy', () => {
  it('gets CONNECT for https, with the name and not with an address, and sees nothing of the request', async () => {
    const { port, received } = await receive(undefined, { certificate: shop })
    const proxy = await startProxy(port)
    const proxies = readProxies({ HTTPS_PROXY: `http://us%40er:pass@127.0.0.1:${proxy.port}` })
    const client = sender({ allow: [], proxies, resolve: neverResolve })
    const url = 'https://shop.example:8443/hook'
    expect(await client.send(sending(url, { ca }))).toMatchObject({ status: 200, response: 'ok' })
    expect(await client.send(sending(url, { ca }))).toMatchObject({ status: 200 })
    const authorization = `Basic ${Buffer.from('us@er:pass').toString('base64')}`
    expect(proxy.asked).toEqual([{ line: 'CONNECT shop.example:8443', host: 'shop.example:8443', authorization }])
    expect(received.map(({ url, headers }) => [url, headers.host, headers['proxy-authorization']])).toEqual([
      ['/hook', 'shop.example:8443', undefined],
      ['/hook', 'shop.example:8443', undefined],
    ])
  })

  it('cannot stand in for the endpoint: its certificate is verified through the tunnel', async () => {
    const other = makeCertificate({ names: ['other.example'] })
    const { port, received } = await receive(undefined, { certificate: other })
    const proxy = await startProxy(port)
    const client = sender({ allow: [], proxies: readProxies({ https_proxy: `127.0.0.1:${proxy.port}` }) })
    const { error } = await client.send(sending('https://shop.example/', { ca: other.certificate }))
    expect(error).toMatch(/altnames/)
    expect(received).toEqual([])
  })

  it('may speak TLS itself, and is then verified', async () => {
    const { port } = await receive(undefined, { certificate: shop })
    const proxy = await startProxy(port, makeCertificate())
    const client = sender({ allow: [], proxies: readProxies({ HTTPS_PROXY: `https://127.0.0.1:${proxy.port}` }) })
    expect((await client.send(sending('https://shop.example/', { ca }))).error).toBe(
      'the proxy: self-signed certificate',
    )
    expect(proxy.asked).toEqual([])
  })

  it('that speaks TLS is used if Node trusts its certificate', async () => {
    const { port } = await receive(undefined, { certificate: shop })
    const own = makeCertificate()
    const proxy = await startProxy(port, own)
    const before = getCACertificates('default')
    onTestFinished(() => setDefaultCACertificates(before))
    setDefaultCACertificates([...before, own.certificate])
    const client = sender({ allow: [], proxies: readProxies({ HTTPS_PROXY: `https://127.0.0.1:${proxy.port}` }) })
    expect(await client.send(sending('https://shop.example/', { ca }))).toMatchObject({ status: 200 })
    expect(proxy.asked).toMatchObject([{ line: 'CONNECT shop.example:443' }])
  })

  it('gets whole URLs for http, which only hosts that are named may have', async () => {
    const { port, received } = await receive()
    const proxy = await startProxy(port)
    const proxies = readProxies({ HTTP_PROXY: `http://user:pass@127.0.0.1:${proxy.port}/` })
    const client = sender({ allow: ['intern:8080'], proxies, resolve: neverResolve })
    expect(await client.send(sending('http://intern:8080/a?b'))).toMatchObject({ status: 200 })
    const authorization = `Basic ${Buffer.from('user:pass').toString('base64')}`
    expect(proxy.asked).toEqual([{ line: 'POST http://intern:8080/a?b', host: 'intern:8080', authorization }])
    expect(received).toMatchObject([{ url: '/a?b', headers: { host: 'intern:8080' } }])
  })

  it('does not open addresses or localhost', async () => {
    const { port } = await receive()
    const proxy = await startProxy(port)
    const client = sender({ allow: [], proxies: readProxies({ HTTPS_PROXY: `127.0.0.1:${proxy.port}` }) })
    for (const host of ['10.0.0.1', 'localhost', '[::1]', '169.254.169.254', '2130706433']) {
      expect((await client.send(sending(`https://${host}/`))).error).toMatch(/is not allowed unless/)
    }
    expect(proxy.asked).toEqual([])
  })

  it.each([
    ['refuses', 'HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n', /^the proxy: status 407$/],
    ['redirects', 'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n', /^the proxy: status 302$/],
    ['says more than it should', 'HTTP/1.1 200 OK\r\n\r\nmore', /^the proxy: it sent more than an answer$/],
    ['speaks no HTTP', 'SSH-2.0-x\r\n', /^the proxy: .*Expected HTTP/],
    ['has too many headers', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}`, /^the proxy: .*Overflow/i],
    ['ends', '', /^the proxy: /],
    ['tells nothing', null, /^no answer within 0.3 s$/],
  ])('that %s is a failure in words', async (_how, answer, error) => {
    const { port, sockets } = await answerRaw((socket) => answer !== null && socket.end(answer))
    const proxies = readProxies({ HTTPS_PROXY: `127.0.0.1:${port}` })
    const outcome = await sender({ allow: [], proxies, timeoutMilliseconds: 300 }).send(
      sending('https://shop.example/'),
    )
    expect(outcome).toMatchObject({ status: null, response: null })
    expect(outcome.error).toMatch(error)
    await until('all is closed', () => sockets.size === 0)
  })

  it('that is away is a failure in words', async () => {
    const proxies = readProxies({ HTTPS_PROXY: 'http://127.0.0.1:1' })
    const { error } = await sender({ allow: [], proxies }).send(sending('https://shop.example/'))
    expect(error).toBe('the proxy: connection refused')
  })

  it.each(['socks5://127.0.0.1:1080', 'ftp://proxy', 'http://', 'http://a:%ff@proxy', 'http://[::1', 'http://proxy:0'])(
    'whose URL is %s fails every attempt, instead of being passed by',
    async (url) => {
      const client = sender({ allow: [], proxies: readProxies({ HTTPS_PROXY: url }), resolve: neverResolve })
      expect((await client.send(sending('https://shop.example/'))).error).toBe(
        'HTTPS_PROXY is not the URL of an HTTP proxy',
      )
    },
  )
})

describe('which proxy', () => {
  const rule = createAddressRule(['10.0.0.0/8', 'fd00::/8', 'shop.example', 'localhost', '127.0.0.0/8'])
  const proxyOf = (url: string, variables: Record<string, string>): string | undefined =>
    readProxies(variables)(readTarget(url, rule))?.host

  it('is chosen by the protocol, and by the spelling in lower case first', () => {
    const both = { HTTPS_PROXY: 'upper', https_proxy: 'lower', HTTP_PROXY: 'plain' }
    expect(proxyOf('https://shop.example/', both)).toBe('lower')
    expect(proxyOf('http://shop.example/', both)).toBe('plain')
    expect(proxyOf('https://shop.example/', { HTTPS_PROXY: 'upper', https_proxy: '' })).toBe('upper')
    expect(proxyOf('https://shop.example/', { HTTP_PROXY: 'plain' })).toBeUndefined()
    expect(proxyOf('https://shop.example/', {})).toBeUndefined()
    for (const url of ['https://localhost/', 'https://127.0.0.1/']) expect(proxyOf(url, both)).toBeUndefined()
  })

  it.each([
    ['*', 'https://shop.example/', true],
    ['shop.example', 'https://shop.example/', true],
    ['SHOP.example.', 'https://shop.example/', true],
    ['example', 'https://shop.example/', true],
    ['.example', 'https://shop.example/', true],
    ['*.example', 'https://shop.example/', true],
    ['a, shop.example:443', 'https://shop.example/', true],
    ['a b', 'https://shop.example/', false],
    ['shop.example:8443', 'https://shop.example/', false],
    ['op.example', 'https://shop.example/', false],
    ['www.shop.example', 'https://shop.example/', false],
    ['.', 'https://shop.example/', false],
    [',, ,', 'https://shop.example/', false],
    ['10.1.2.3', 'https://10.1.2.3/', true],
    ['10.1.2.3:443', 'https://10.1.2.3/', true],
    ['10.1.2.3:444', 'https://10.1.2.3/', false],
    ['10.0.0.0/8', 'https://10.1.2.3/', true],
    ['10.9.9.9/8', 'https://10.1.2.3/', true],
    ['11.0.0.0/8', 'https://10.1.2.3/', false],
    ['0.0.0.0/0', 'https://10.1.2.3/', true],
    ['[::ffff:10.0.0.0/104]', 'https://10.1.2.3/', true],
    ['1.2.3', 'https://10.1.2.3/', false],
    ['fd00::1', 'https://[fd00::1]/', true],
    ['[fd00::1]', 'https://[fd00::1]/', true],
    ['[fd00::1]:443', 'https://[fd00::1]/', true],
    ['[fd00::1]:444', 'https://[fd00::1]/', false],
    ['fd00::/8', 'https://[fd00::1]/', true],
  ])('is none for NO_PROXY=%s and %s: %s', (exceptions, url, isDirect) => {
    const variables = { HTTPS_PROXY: 'proxy', NO_PROXY: exceptions }
    expect(proxyOf(url, variables)).toBe(isDirect ? undefined : 'proxy')
  })
})
