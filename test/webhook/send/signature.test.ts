import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { VERSION } from '#src/lib/version.ts'
import { generateSecret, signedHeaders } from '#src/webhook/send/signature.ts'
import { randomBytes } from '../../support/random.ts'

const now = (): number => Math.floor(Date.now() / 1000)
const body = Buffer.from('{"type":"delivery.received","data":{"Payload":{"Not":"é, \u2028 and \\u0000"}}}')

describe('signed headers', () => {
  it('are accepted by the library of Standard Webhooks, over the raw bytes', () => {
    const secret = generateSecret(randomBytes)
    const headers = signedHeaders('0190b5c4-0000-7000-8000-000000000000', now(), body, [secret])
    expect(new Webhook(secret).verify(body.toString(), headers)).toEqual(JSON.parse(body.toString()))
    const tampered = body.toString().replace('received', 'receivee')
    expect(() => new Webhook(secret).verify(tampered, headers)).toThrow('No matching signature')
    expect(() => new Webhook(secret).verify(body.toString(), { ...headers, 'webhook-id': 'other' })).toThrow()
  })

  it('are accepted under either secret while one is being rotated, and under no third one', () => {
    const [current, former, other] = [1, 2, 3].map(() => generateSecret(randomBytes)) as [string, string, string]
    const headers = signedHeaders('msg_1', now(), body, [current, former])
    expect(headers['webhook-signature'].split(' ')).toHaveLength(2)
    for (const secret of [current, former]) expect(new Webhook(secret).verify(body.toString(), headers)).toBeTruthy()
    expect(() => new Webhook(other).verify(body.toString(), headers)).toThrow('No matching signature')
  })

  it('equal those that the library makes', () => {
    const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
    expect(
      signedHeaders('msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, Buffer.from('{"test": 2432232314}'), [secret]),
    ).toEqual({
      'content-type': 'application/json',
      'user-agent': `teslim/${VERSION}`,
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': new Webhook(secret).sign(
        'msg_p5jXN8AQM9LWM0D4loKWxJek',
        new Date(1614265330_000),
        '{"test": 2432232314}',
      ),
    })
  })
})

it('a secret is whsec_ and 32 random bytes', () => {
  const secret = generateSecret(randomBytes)
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(generateSecret(randomBytes)).not.toBe(secret)
  expect(generateSecret((length) => Buffer.alloc(length, 255))).toBe(`whsec_${'/'.repeat(42)}8=`)
})
