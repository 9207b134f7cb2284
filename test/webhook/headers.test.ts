import { createServer } from 'node:http'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { systemClock } from '#src/lib/clock.ts'
import { changedHeaders, checkHeaders, headerNames, type NamedHeader } from '#src/webhook/headers.ts'
import { createSender } from '#src/webhook/send/sender.ts'
import { signedHeaders } from '#src/webhook/send/signature.ts'
import { atTheEnd } from '../support/at-the-end.ts'
import { allowedAt, listenAllowed } from '../support/network/allowed-ports.ts'

const codeOf = (headers: readonly NamedHeader[]): string => {
  try {
    checkHeaders(headers)
    return 'fine'
  } catch (error) {
    return `${(error as { code: string }).code}: ${(error as Error).message}`
  }
}

const TAKEN = [
  ...['webhook-id', 'Webhook-Signature', 'WEBHOOK-TIMESTAMP', 'webhook-', 'content-type', 'Content-Length'],
  ...['Content-Encoding', 'user-agent', 'Host', 'transfer-encoding', 'Connection', 'keep-alive', 'TE', 'trailer'],
  ...['upgrade', 'Expect', 'proxy-authorization', 'Proxy-Connection', 'HTTP2-Settings', 'Accept-Encoding'],
]

describe('headers of an endpoint', () => {
  it.each(TAKEN)('cannot be what teslim, HTTP or proxies need: %s', (name) => {
    expect(codeOf([[name, 'value-of-it']])).toMatch(
      /^WEBHOOK_HEADER_INVALID: The header ".+" cannot be set: [^.]+ belong to teslim, to HTTP or to proxies\.$/,
    )
    expect(codeOf([[name, null]])).toMatch(/^WEBHOOK_HEADER_INVALID/)
  })

  it.each(['', ' ', 'a b', 'a:', ':path', 'ü', 'a\r\nb', 'a\0', 'X(Y)', 'x'.repeat(129)])(
    'have names that are tokens, unlike %j',
    (name) => {
      expect(codeOf([[name, 'value-of-it']])).toMatch(/^WEBHOOK_HEADER_INVALID: The name of a header is 1 to 128 /)
    },
  )

  it.each(['', ' a', 'a ', '\t', 'a\tb', 'a\r\nX-B: c', 'a\nb', 'a\0b', 'ü', '\u2028', '\u007f', 'x'.repeat(4097)])(
    'have printable values, unlike %j, which no refusal repeats',
    (value) => {
      const refused = codeOf([['X-A', value]])
      expect(refused).toMatch(/^WEBHOOK_HEADER_INVALID: The value of the header "X-A" must be 1 to 4096 printable/)
      if (value.trim().length > 3) expect(refused).not.toContain(value)
    },
  )

  it('may have the longest name and value, and characters that few use', () => {
    const name = `!#$%&'*+.^_\`|~-${'9'.repeat(113)}`
    expect(
      codeOf([
        [name, 'x'.repeat(4096)],
        ['__proto__', '"\\ ,;='],
        ['a', '~'],
      ]),
    ).toBe('fine')
  })

  it('are eight at most, named once each, in any letter case', () => {
    expect(
      codeOf([
        ['X-A', '1'],
        ['x-a', '2'],
      ]),
    ).toBe('WEBHOOK_HEADER_INVALID: The header "x-a" is named twice.')
    const eight = Array.from({ length: 8 }, (_, n) => [`X-${n}`, 'v'] as const)
    const stored = changedHeaders(null, eight)
    expect(headerNames(stored)).toEqual(eight.map(([name]) => name))
    expect(() => changedHeaders(stored, [['X-8', 'v']])).toThrow('An endpoint has at most 8 headers of its own.')
    expect(
      headerNames(
        changedHeaders(stored, [
          ['x-3', 'w'],
          ['X-4', null],
          ['X-9', 'v'],
          ['none', null],
        ]),
      ),
    ).toEqual(['X-0', 'X-1', 'X-2', 'X-5', 'X-6', 'X-7', 'x-3', 'X-9'])
    expect(
      changedHeaders(
        stored,
        eight.map(([name]) => [name, null]),
      ),
    ).toBeNull()
  })

  it('arrive as they were set, and nothing else does, whatever they contain', async () => {
    const received: string[][] = []
    const server = createServer((request, response) => {
      received.push(request.rawHeaders)
      request.resume().on('end', () => response.end())
    })
    const url = `http://127.0.0.1:${await listenAllowed(server)}/`
    const sender = createSender({ allow: allowedAt('127.0.0.1'), clock: systemClock })
    atTheEnd(async () => {
      await sender.close()
      server.close()
    })
    const sent = async (headers: Record<string, string>) => {
      const body = Buffer.from('{}')
      const signed = signedHeaders('id', 1, body, ['whsec_AAAA'])
      const { status } = await sender.send({ url, ca: null, headers: { ...headers, ...signed }, body })
      expect(status).toBe(200)
      const raw = received.at(-1) ?? []
      return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as const] : []))
    }
    const usual = await sent({})
    const character = fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) },
      fc.constantFrom('\r', '\n', '\0', '\t', 'ü', '\u2028'),
    )
    const name = fc.oneof(
      fc.string({ unit: fc.constantFrom(...'aZ09-_!~`'), minLength: 1, maxLength: 12 }),
      fc.string({ unit: character, maxLength: 6 }),
      fc.constantFrom(...TAKEN, '__proto__', 'constructor', 'cookie', 'Authorization', 'date', 'range', 'via'),
    )
    const value = fc.string({ unit: character, maxLength: 40 })
    let fine = 0
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, value), { minLength: 1, maxLength: 3 }), async (headers) => {
        if (codeOf(headers) !== 'fine') return
        fine++
        const arrived = await sent(Object.fromEntries(headers))
        const own = arrived.filter(([name]) => !usual.some(([other]) => other === name))
        expect(new Map(own)).toEqual(new Map(headers))
        expect(arrived).toHaveLength(usual.length + headers.length)
      }),
      { numRuns: 500 },
    )
    expect(fine).toBeGreaterThan(20)
  })
})
