import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { generateSecret, signedHeaders } from '#src/webhook/send/signature.ts'
import { whyUnverified } from '#src/webhook/verify.ts'
import { randomBytes } from '../support/random.ts'

const NOW = Date.now()
const SECONDS = Math.floor(NOW / 1000)
const body = Buffer.from('{"type":"delivery.received"}')
const [secret, former, other] = [1, 2, 3].map(() => generateSecret(randomBytes)) as [string, string, string]
const signed = signedHeaders('msg_1', SECONDS, body, [secret])
const why = (headers: object, secrets = [secret], bytes = body, now = NOW) =>
  whyUnverified({ headers: headers as typeof signed, body: bytes }, secrets, now)

describe('a message', () => {
  it('that is signed is verified, with either secret while one is being replaced', () => {
    expect(why(signed)).toBeUndefined()
    expect(why(signed, [other, secret])).toBeUndefined()
    expect(why(signedHeaders('msg_1', SECONDS, body, [secret, former]), [former])).toBeUndefined()
  })

  it.each([
    ['without a header', { ...signed, 'webhook-id': undefined }, 'missing header: webhook-id'],
    ['without any', {}, 'missing header: webhook-id, webhook-timestamp, webhook-signature'],
    ['with an empty header', { ...signed, 'webhook-signature': '' }, 'missing header: webhook-signature'],
    ['with a time in words', { ...signed, 'webhook-timestamp': 'now' }, 'bad timestamp: '],
    [
      'with another version of signatures',
      { ...signed, 'webhook-signature': 'v2,abc' },
      'bad signature: webhook-signature has none',
    ],
    ['with another id', { ...signed, 'webhook-id': 'msg_2' }, 'bad signature: the secret is another one'],
    [
      'with another time',
      { ...signed, 'webhook-timestamp': String(SECONDS - 1) },
      'bad signature: the secret is another one',
    ],
    [
      'with half a signature',
      { ...signed, 'webhook-signature': signed['webhook-signature'].slice(0, -5) },
      'bad signature: ',
    ],
    ['signed with another secret', signedHeaders('msg_1', SECONDS, body, [other]), 'bad signature: '],
    [
      'from long ago',
      signedHeaders('msg_1', SECONDS - 301, body, [secret]),
      'old timestamp: it was signed 301 seconds ago',
    ],
    [
      'from the future',
      signedHeaders('msg_1', SECONDS + 301, body, [secret]),
      'timestamp in the future: it was signed 301 seconds',
    ],
  ])('%s is not, and the reason is told', (_what, headers, reason) => {
    expect(why(headers)).toContain(reason)
  })

  it('is not verified when one byte of it was changed', () => {
    fc.assert(
      fc.property(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), (place, change) => {
        const changed = Buffer.from(body)
        changed[place] = (changed[place] ?? 0) ^ change
        expect(why(signed, [secret], changed)).toContain('bad signature')
      }),
    )
  })

  it('is verified when the library of Standard Webhooks verifies it, and only then', () => {
    const text = fc.string({ maxLength: 20 })
    fc.assert(
      fc.property(text, fc.constantFrom(-900, -200, 0, 200, 900), fc.boolean(), (content, age, isOurs) => {
        const bytes = Buffer.from(JSON.stringify(content))
        const headers = signedHeaders('msg_1', SECONDS - age, bytes, [isOurs ? secret : other])
        let isVerified = true
        try {
          new Webhook(secret).verify(bytes.toString(), headers)
        } catch {
          isVerified = false
        }
        expect(why(headers, [secret], bytes) === undefined).toBe(isVerified)
      }),
    )
  })
})

it('the worked example of docs/webhooks.md is right', () => {
  const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8')
  const value = (name: string): string => new RegExp(`^\\| ${name} \\| \`(.+)\` \\|$`, 'm').exec(page)?.[1] ?? name
  const example = Buffer.from(value('body'))
  const headers = signedHeaders(value('`webhook-id`'), Number(value('`webhook-timestamp`')), example, [value('secret')])
  expect(headers['webhook-signature']).toBe(value('`webhook-signature`'))
  const at = Number(value('`webhook-timestamp`')) * 1000
  expect(why(headers, [value('secret')], example, at)).toBeUndefined()
})
