import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readProxies } from '#src/webhook/send/proxies.ts'
import { signedHeaders } from '#src/webhook/send/signature.ts'
import { withoutSecrets } from '#src/webhook/send/without-secrets.ts'
import { receive, sender, sending } from './receiver.ts'

const REMOVED = '[removed]'
const BASIC = `Basic ${Buffer.from('erp:geheim/+passwort').toString('base64')}`
const kept = (body: string, ...values: string[]) => withoutSecrets(Buffer.from(body), values).toString()

/** How programs write the value of a header into their answers. */
const each = (write: (character: string, code: number) => string) => (text: string) =>
  text.replace(/[^a-z0-9]/gi, (character) => write(character, character.charCodeAt(0)))
const hex = (code: number): string => code.toString(16).padStart(2, '0')
const html = each((_, code) => `&#${code};`)
const WRITTEN: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  'as JSON': (text) => JSON.stringify(text).slice(1, -1),
  'as JSON of PHP': (text) => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
  'as JSON of .NET': each((_, code) => `\\u00${hex(code)}`),
  'as JSON in JSON': (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3).replaceAll('/', '\\\\\\/'),
  'as HTML': html,
  'as HTML, in hexadecimal': each((_, code) => `&#x${hex(code).toUpperCase()};`),
  'as HTML, by name': (text) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
  'as JSON in HTML': (text) => html(JSON.stringify(text).slice(1, -1)),
  'as HTML in JSON': (text) => JSON.stringify(html(text)).slice(1, -1).replaceAll('&', '\\u0026'),
  'as a part of a URL': encodeURIComponent,
  'as a literal of Python': each((_, code) => `\\x${hex(code)}`),
}

const ALL = Object.values(WRITTEN)

describe('of what a receiver answers', () => {
  it.each(Object.entries(WRITTEN))('no secret is kept that is written %s', (_how, write) => {
    for (const value of ['Bearer Abc/+def=', 'a"b\\c<d>&e', BASIC, 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4='])
      expect(kept(`before ${write(value)} after`, 'other', value)).toBe(`before ${REMOVED} after`)
    expect(kept(`before ${write('whsec_Zm9v+/YmFy==')} after`)).toBe(`before ${REMOVED} after`)
  })

  it('no part of a value is kept: the words after the first, and both halves of Basic authentication', () => {
    expect(kept('{"token":"abcd-1234"}', 'Bearer abcd-1234')).toBe(`{"token":"${REMOVED}"}`)
    expect(kept('user=erp password=geheim/+passwort erp:geheim/+passwort', BASIC)).toBe(
      `user=erp password=${REMOVED} ${REMOVED}`,
    )
    const [first, second] = [
      'K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
      'aaaafzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
    ]
    expect(kept(`["v1,${first}","v1,${second}"] ${second}`, `v1,${first} v1,${second}`)).not.toMatch(/[A-Za-z0-9/]{10}/)
    expect(kept('sid: 12345678, t: dark', 'sid=12345678; t=dark')).toBe(`sid: ${REMOVED}, t: ${REMOVED}`)
    expect(kept('Bearer token is wrong', 'Bearer abcd-1234')).toBe('Bearer token is wrong')
  })

  it('everything else is kept as it is', () => {
    for (const text of ['', 'no', '{"error":"unknown article \\u00fc %zz &nope; \\"SKU-4\\""}', 'whsec_... is missing'])
      expect(kept(text, 'Bearer secret-token', BASIC)).toBe(text)
    expect(kept('the tenant is 12', '12')).toBe('the tenant is 12')
  })

  it('no beginning of a secret is kept that is cut off after the first KiB', () => {
    const secret = 'abcdefghijklmnopqrstuvwxyz'
    for (const [name, write] of Object.entries(WRITTEN)) {
      const written = write(`${secret}/${secret}`)
      for (let length = 1; length < written.length; length++) {
        const body = `${'.'.repeat(1024 - length)}${written}`.slice(0, 1024)
        const left = kept(body, `${secret}/${secret}`)
        expect([name, length, left.replace(/^\.+/, '')]).toEqual([name, length, REMOVED.slice(0, length)])
      }
    }
  })

  it('no secret is kept, wherever it stands and however often, and the text stays as short as it may be', () => {
    const text = fc.string({ unit: fc.constantFrom('.', '%', '\\', '&', '#', ';', '/', 'ü', '2'), maxLength: 40 })
    const value = fc.string({ unit: fc.constantFrom(...'ABCDEFGHIJ+/ ="\\&<%'), minLength: 8, maxLength: 30 })
    fc.assert(
      fc.property(fc.array(text, { maxLength: 30 }), value, fc.constantFrom(...ALL), (texts, secret, write) => {
        const body = Buffer.from(write(texts.join(secret)))
        const left = withoutSecrets(body.subarray(0, 1024), [secret])
        expect(left.length).toBeLessThanOrEqual(1024)
        expect(left.toString('latin1')).not.toContain(write(secret))
      }),
      { numRuns: 1000 },
    )
  })
})

describe('an answer that shows the headers of the request', () => {
  const echo = () =>
    receive((request, response) => response.writeHead(500).end(JSON.stringify(request.headers, undefined, 1)))
  const body = Buffer.from('{}')
  const secrets = ['whsec_b25l', 'whsec_dHdv']

  it('is kept without signatures, and without every header that is not known to be none', async () => {
    const { port } = await echo()
    const signed = signedHeaders('msg_1', 1_700_000_000, body, secrets)
    const headers = { ...signed, authorization: 'Bearer abcd-1234', 'X-Api-Key': 'key/+1234' }
    const { response, status } = await sender().send(sending(`http://127.0.0.1:${port}/`, { headers, body }))
    expect([status, response]).toEqual([500, expect.stringContaining('"webhook-id": "msg_1"')])
    expect(response).toContain('"webhook-timestamp": "1700000000"')
    expect(response).toContain(`"authorization": "${REMOVED}"`)
    expect(response).toContain(`"x-api-key": "${REMOVED}"`)
    expect(response).toContain(`"webhook-signature": "${REMOVED}"`)
  })

  it('is kept without the parts of the URL that not everybody may see', async () => {
    const { port } = await receive((request, response) =>
      response.writeHead(404).end(`Cannot POST ${request.url}: no B00000000000 in /services/T0/B00000000000; true, 12`),
    )
    const url = `http://127.0.0.1:${port}/services/T0/B00000000000?token=of-the-query&a=true&b=12`
    const { response } = await sender().send(sending(url))
    expect(response).toBe(
      `Cannot POST /services${REMOVED}?token=${REMOVED}&a=true&b=12: no ${REMOVED} in /services${REMOVED}; true, 12`,
    )
  })

  it('is kept without what the proxy gets', async () => {
    const proxy = await echo()
    const proxies = readProxies({ HTTP_PROXY: `http://erp:geheimes@127.0.0.1:${proxy.port}` })
    const client = sender({ allow: ['intern'], proxies })
    const { response } = await client.send(sending('http://intern/'))
    expect(response).toContain(`"proxy-authorization": "${REMOVED}"`)
  })
})
