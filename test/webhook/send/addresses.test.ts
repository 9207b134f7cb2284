import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import { readProxies } from '#src/webhook/send/proxies.ts'
import { allowedAt } from '../../support/network/allowed-ports.ts'
import { makeCertificate } from '../../support/network/certificate.ts'
import { listen, receive, sender, sending } from './receiver.ts'

const UNLESS = ' unless TESLIM_WEBHOOK_ALLOW names shop.example'

const resolving = (answers: Record<string, readonly string[]>) => {
  const asked: string[] = []
  const resolve = async (host: string): Promise<readonly string[]> => {
    asked.push(host)
    return answers[host] ?? Promise.reject(Object.assign(new Error(host), { code: 'ENOTFOUND' }))
  }
  return { asked, resolve }
}

describe('a connection', () => {
  it('goes to the address that was checked, although the name has another one when it is asked again', async () => {
    const certificate = makeCertificate({ names: ['shop.example'] })
    const ca = certificate.certificate
    // 127.0.0.2 is public here; the private server on 127.0.0.1 listens on the same port.
    const open = await receive((_request, response) => response.end('public'), {
      certificate,
      address: '127.0.0.2',
      port: 0,
    })
    const secret = createServer((_request, response) => response.end('private'))
    const { connections } = await listen(secret, '127.0.0.1', open.port)
    let asked = 0
    const resolve = async (): Promise<string[]> => {
      asked += 1
      return asked === 1 ? ['127.0.0.2'] : ['127.0.0.1']
    }
    const client = sender({ allow: [`127.0.0.2:${open.port}`], resolve })
    const url = `https://shop.example:${open.port}/`
    expect(await client.send(sending(url, { ca }))).toMatchObject({ status: 200, response: 'public' })
    expect(await client.send(sending(url, { ca }))).toMatchObject({ status: 200, response: 'public' })
    expect([asked, open.connections()]).toEqual([1, 1])
    for (const socket of open.sockets) socket.destroy()
    const again = await sender({ allow: [`127.0.0.2:${open.port}`], resolve }).send(sending(url, { ca }))
    expect(again).toMatchObject({
      status: null,
      error: `the address 127.0.0.1 of shop.example is not allowed unless TESLIM_WEBHOOK_ALLOW names shop.example:${open.port}`,
      response: null,
    })
    expect(connections()).toBe(0)
  })

  it('uses only those of several addresses that are allowed', async () => {
    const certificate = makeCertificate({ names: ['shop.example'] })
    const open = await receive((_request, response) => response.end('public'), {
      certificate,
      address: '127.0.0.2',
      port: 0,
    })
    const { connections } = await listen(createServer(), '127.0.0.1', open.port)
    const { resolve } = resolving({ 'shop.example': ['127.0.0.1', '::1', '::ffff:127.0.0.1', '127.0.0.2'] })
    const client = sender({ allow: [`127.0.0.2:${open.port}`], resolve })
    const url = `https://shop.example:${open.port}/`
    expect(await client.send(sending(url, { ca: certificate.certificate }))).toMatchObject({ response: 'public' })
    expect(connections()).toBe(0)
  })

  it('tries the next address when nobody listens at the first one', async () => {
    const { port } = await receive(undefined, { address: '127.0.0.3' })
    const { resolve } = resolving({ intern: ['127.0.0.2', '127.0.0.3'] })
    const client = sender({ allow: allowedAt('intern'), resolve })
    expect(await client.send(sending(`http://intern:${port}/`))).toMatchObject({ status: 200 })
  })

  it.each(['10.0.0.1', '169.254.169.254', '::1', 'fe80::1%lo', '::ffff:127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::'])(
    'never goes to %s',
    async (address) => {
      const { resolve } = resolving({ 'shop.example': [address] })
      const { status, error } = await sender({ allow: [], resolve }).send(sending('https://shop.example/'))
      expect([status, error]).toEqual([null, `the address ${address} of shop.example is not allowed${UNLESS}`])
    },
  )

  it('never goes to an address that is written in the URL, nor by http, unless it is allowed', async () => {
    const { port, connections } = await receive()
    const client = sender({ allow: ['10.0.0.0/8'] })
    for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '[::ffff:7f00:1]', 'localhost', 'a.localhost.']) {
      const { error } = await client.send(sending(`https://${host}:${port}/`))
      expect(error).toMatch(/^the address (127\.0\.0\.1|::ffff:7f00:1)( of (a\.)?localhost)? is not allowed unless/)
    }
    expect((await client.send(sending('http://shop.example/'))).error).toMatch(/begins with http:/)
    expect(connections()).toBe(0)
  })

  it('is checked when NO_PROXY takes it past the proxy', async () => {
    const { resolve } = resolving({ 'shop.example': ['10.0.0.1'] })
    const proxies = readProxies({ HTTPS_PROXY: 'http://127.0.0.1:1', NO_PROXY: 'example' })
    const { error } = await sender({ allow: [], proxies, resolve }).send(sending('https://shop.example/'))
    expect(error).toBe(`the address 10.0.0.1 of shop.example is not allowed${UNLESS}`)
  })

  it('to localhost needs a network of loopback addresses, and then https', async () => {
    const certificate = makeCertificate()
    const { port } = await receive(undefined, { certificate })
    const client = sender({ allow: [`127.0.0.0/8:${port}`] })
    const ca = certificate.certificate
    expect(await client.send(sending(`https://localhost:${port}/`, { ca }))).toMatchObject({ status: 200 })
    expect((await client.send(sending(`http://localhost:${port}/`))).error).toMatch(/begins with http:/)
  })

  it('needs a name that exists', async () => {
    const { resolve } = resolving({ 'empty.example': [] })
    const client = sender({ allow: [], resolve })
    expect((await client.send(sending('https://shop.example/'))).error).toBe('the name shop.example was not found')
    expect((await client.send(sending('https://empty.example/'))).error).toBe('the name empty.example was not found')
  })

  it('that is opened at the same time as others asks once for the name', async () => {
    const { port } = await receive()
    const { asked, resolve } = resolving({ intern: ['127.0.0.1'] })
    const client = sender({ allow: allowedAt('intern'), resolve })
    const attempts = Array.from({ length: 20 }, () => client.send(sending(`http://intern:${port}/`)))
    for (const { status } of await Promise.all(attempts)) expect(status).toBe(200)
    expect(asked).toEqual(['intern'])
  })

  it('does not wait for a resolver that never answers', async () => {
    const client = sender({ allow: [], timeoutMilliseconds: 50, resolve: () => new Promise(() => undefined) })
    expect((await client.send(sending('https://shop.example/'))).error).toBe('no answer within 0.05 s')
  })
})
