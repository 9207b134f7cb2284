import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { exchange } from '../../support/app/raw-http.ts'
import { type SandboxServer, serveSandbox } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'

let sandbox: SandboxServer
let token = ''
let receipt = ''

const curl = (...args: string[]) => {
  const { stdout, status } = spawnSync('curl', ['-sS', '--max-time', '20', ...args], { encoding: 'utf8' })
  expect(status).toBe(0)
  return stdout
}
const at = (path: string): string => sandbox.server.url + path
const bearer = (): string[] => ['-H', `Authorization: Bearer ${token}`]
const SIZES = ['-o', '/dev/null', '-w', '%{http_code} %{size_download}']

beforeAll(async () => {
  sandbox = await serveSandbox({ cwd: tempFolder() }, afterAll)
  const { email, password, apiKey } = sandbox
  const json = ['-H', 'Content-Type: application/json', '-d']
  const body = JSON.stringify({ Email: email, Password: password })
  token = JSON.parse(curl(...json, body, at('/Login/Customer/Api/Verify'))).data.Token
  const order = JSON.stringify({ OrderID: 'PO-1', Status: 1, Text: 'abc '.repeat(1000) })
  receipt = JSON.parse(curl('--compressed', '-H', `ApiKey: ${apiKey}`, '-d', order, at('/Purchase/update'))).data
    .ReceiptID
})

describe('curl', () => {
  it('--compressed gets the same with less', () => {
    for (const path of ['/openapi.yaml', `/Purchase/delivery/${receipt}/payload`, `/Purchase/delivery/${receipt}`]) {
      const plain = curl(...bearer(), at(path))
      const size = (...more: string[]) => Number(curl(...SIZES, ...more, ...bearer(), at(path)).split(' ')[1])
      expect(curl('--compressed', ...bearer(), at(path))).toBe(plain)
      expect(size()).toBe(Buffer.byteLength(plain))
      expect(size('--compressed')).toBeLessThan(size() / 4)
    }
  })

  it('--etag-compare gets nothing that it has', () => {
    const file = `${tempFolder()}/etag`
    const url = at('/openapi.yaml')
    expect(curl('--etag-save', file, ...SIZES, url)).toMatch(/^200 /)
    expect(curl('--etag-compare', file, ...SIZES, url)).toBe('304 0')
  })

  it('-I gets the head that a GET has', () => {
    const fields = (text: string) =>
      text
        .split(/\r?\n/)
        .filter((line) => !/^(date|x-request-id|$)/i.test(line))
        .sort()
    for (const path of ['/openapi.yaml', '/livez', `/Purchase/delivery/${receipt}`, '/docs']) {
      for (const more of [[], ['--compressed']]) {
        const head = fields(curl('-I', ...more, ...bearer(), at(path)))
        const get = fields(curl('-D', '-', '-o', '/dev/null', ...more, ...bearer(), at(path)))
        expect(head).toEqual(get)
      }
    }
  })

  it('-X OPTIONS gets what is allowed', () => {
    const answer = curl('-i', '-X', 'OPTIONS', at('/Purchase/update'))
    expect(answer).toMatch(/^HTTP\/1\.1 204 No Content\r\n/)
    expect(answer).toMatch(/\r\nallow: OPTIONS, POST\r\n/)
    expect(answer).not.toMatch(/\n(content-length|content-type|transfer-encoding|access-control-.*):/i)
    expect(curl('-X', 'OPTIONS', ...SIZES, at('/nowhere'))).toMatch(/^404 /)
  })
})

describe('on one connection', () => {
  const ask = (method: string, path: string, ...more: string[]) =>
    [`${method} ${path} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${token}`, ...more, '', ''].join('\r\n')
  const last = () => ask('GET', '/livez', 'Connection: close')
  const statuses = (bytes: string) => Array.from(bytes.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => Number(status))

  it('what has no body is followed by the next answer', async () => {
    const tag = /^etag: (.*)\r$/m.exec(curl('-I', at('/openapi.yaml')))?.[1] ?? ''
    const bytes = await exchange(
      sandbox.server.url,
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
      sandbox.server.url,
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
    expect(curl(...SIZES, '--compressed', ...bearer(), at(`/Purchase/delivery/${receipt}`))).toMatch(/^200 /)
  })
})
