import { describe, expect, it } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { exchange } from '../../support/app/raw-http.ts'
import { readingSupplier } from '../../support/app/supplier.ts'
import { testApp } from '../../support/app/test-app.ts'

const service = await testApp()
const { token, deliver } = await readingSupplier(service)
const url = await service.app.listen({ port: 0, host: '127.0.0.1' })
const at = (path: string): string => url + path
const { ReceiptID: receipt } = await deliver({ OrderID: 'PO-1', Status: 1, Text: 'abc '.repeat(1000) })

describe('on one connection', () => {
  const ask = (method: string, path: string, ...more: string[]) =>
    [`${method} ${path} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${token}`, ...more, '', ''].join('\r\n')
  const last = () => ask('GET', '/livez', 'Connection: close')
  const statuses = (bytes: string) => Array.from(bytes.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => Number(status))

  it('what has no body is followed by the next answer', async () => {
    const tag = (await fetch(at('/openapi.yaml'))).headers.get('etag')
    const bytes = await exchange(
      url,
      [
        ask('HEAD', '/openapi.yaml', 'Accept-Encoding: br'),
        ask('GET', '/openapi.yaml', `If-None-Match: ${tag}`),
        ask('HEAD', '/openapi.yaml', `If-None-Match: ${tag}`),
        ask('OPTIONS', '*'),
        `${ask('OPTIONS', '/Purchase/list', 'Content-Length: 2')}{}`,
        ask('HEAD', '/nowhere'),
        last(),
      ].join(''),
    )
    expect(statuses(bytes)).toEqual([200, 304, 304, 204, 204, 404, 200])
    const heads = bytes.split(/(?=HTTP\/1\.1 \d{3})/).slice(0, 6)
    for (const head of heads) expect(head.endsWith('\r\n\r\n')).toBe(true)
    expect(heads[3]).toContain('\r\nallow: GET, HEAD, OPTIONS, POST\r\n')
  })

  it('a HEAD of an event stream ends', async () => {
    const bytes = await exchange(
      url,
      ask('HEAD', '/Purchase/feed', 'Accept: text/event-stream', 'Accept-Encoding: gzip') + last(),
    )
    expect(statuses(bytes)).toEqual([200, 200])
    expect(bytes).toMatch(
      /^HTTP\/1\.1 200 OK\r\n(?:.+\r\n)*content-type: text\/event-stream; charset=utf-8\r\n(?:.+\r\n)*\r\nHTTP/,
    )
    expect(bytes).not.toContain('content-encoding')
  })

  it('an event stream is not compressed', async () => {
    const answer = await fetch(at('/Purchase/feed'), {
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'text/event-stream',
        'accept-encoding': 'gzip, identity;q=0',
      },
    })
    expect(answer.headers.get('content-encoding')).toBeNull()
    const reader = answer.body?.getReader()
    let seen = ''
    while (!seen.includes(receipt)) seen += Buffer.from((await reader?.read())?.value ?? []).toString()
    await reader?.cancel()
  })

  it('a client that leaves while its answer is compressed does no harm', async () => {
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const leave = new AbortController()
        const answer = fetch(at(`/Purchase/delivery/${receipt}`), {
          headers: { authorization: `Bearer ${token}`, 'accept-encoding': 'br' },
          signal: leave.signal,
        })
        setImmediate(() => leave.abort())
        await answer.catch(() => undefined)
      }),
    )
    const authorization = `Bearer ${token}`
    expect((await fetch(at(`/Purchase/delivery/${receipt}`), { headers: { authorization } })).status).toBe(200)
  })
})
