import { describe, expect, it } from 'vitest'
import { systemRandom } from '#src/lib/random.ts'
import { createKeySealing } from '#src/token/key-sealing.ts'
import { storedHeaders } from '#src/webhook/headers.ts'
import { createWebhookSecrets } from '#src/webhook/webhook-secrets.ts'

const SECRET = 'a secret of enough characters'
const OTHER = 'another secret, just as long'
const TEXT = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwTp4yKLBvDHo='
const FORMER = 'whsec_AAAA9r8GKYqrTwjUPD8ILPZIo2LaLaSwTp4yKLBvDHo='

const VALUE = 'gateway-token-of-e-1'

const secretsUnder = (secret: string, formerSecret = '') =>
  createWebhookSecrets({ secret, formerSecret, random: systemRandom })
const ours = secretsUnder(SECRET)

const refusal = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'opened',
    ({ code, details }) => `${code} ${details.reason}`,
  )

const endpoint = (secret: string, formerSecret: { sealed: string; until: number } | null = null) => ({
  id: 'e-1',
  secret,
  formerSecret,
})

describe('the secret of an endpoint', () => {
  it('is stored encrypted, and opens for its own endpoint only', async () => {
    const sealed = await ours.seal('e-1', TEXT)
    expect(sealed).toMatch(/^v1\.[\w-]{16}\.[\w-]+$/)
    expect(Buffer.from(sealed.split('.')[2] ?? '', 'base64url').includes(TEXT)).toBe(false)
    expect(await ours.signing(endpoint(sealed), 0)).toEqual([TEXT])
    expect(await refusal(ours.signing({ ...endpoint(sealed), id: 'e-2' }, 0))).toMatch(
      /^WEBHOOK_SECRET_CANNOT_OPEN the secret of the webhook endpoint e-2: /,
    )
  })

  it('cannot stand in for a signing key, nor a signing key for it', async () => {
    const keys = createKeySealing({ secret: SECRET, formerSecret: '', random: systemRandom })
    expect(await refusal(keys.open('e-1', await ours.seal('e-1', TEXT)))).toMatch(/^SIGNING_KEY_CANNOT_OPEN /)
    expect(await refusal(ours.signing(endpoint(await keys.seal('e-1', TEXT)), 0))).toMatch(
      /^WEBHOOK_SECRET_CANNOT_OPEN /,
    )
  })

  it('is stored as it is without a secret of the service', async () => {
    expect(await secretsUnder('').seal('e-1', TEXT)).toBe(TEXT)
    expect(await ours.signing(endpoint(TEXT), 0)).toEqual([TEXT])
  })

  it('says which variable is wrong and which endpoint it concerns, and never a secret', async () => {
    const sealed = await ours.seal('e-1', TEXT)
    const reasons = [
      await refusal(secretsUnder(OTHER).signing(endpoint(sealed), 0)),
      await refusal(secretsUnder('').signing(endpoint(sealed), 0)),
      await refusal(ours.signing(endpoint('{"d":"x"}'), 0)),
      await refusal(ours.signing(endpoint(await ours.seal('e-1', 'something else')), 0)),
    ]
    expect(reasons).toEqual([
      expect.stringMatching(/endpoint e-1: TESLIM_SECRET .* is not the secret/),
      expect.stringMatching(/endpoint e-1: it is encrypted, and neither TESLIM_SECRET/),
      expect.stringMatching(/endpoint e-1: its row is damaged$/),
      expect.stringMatching(/endpoint e-1: its row is damaged$/),
    ])
    for (const secret of [SECRET, OTHER, TEXT, 'something else']) expect(reasons.join()).not.toContain(secret)
  })

  it('is followed by the one before until the overlap is over', async () => {
    const former = { sealed: await ours.seal('e-1', FORMER), until: 100 }
    const both = endpoint(await ours.seal('e-1', TEXT), former)
    expect([await ours.signing(both, 99), await ours.signing(both, 100)]).toEqual([[TEXT, FORMER], [TEXT]])
    const lost = { ...former, sealed: await secretsUnder(OTHER).seal('e-1', FORMER) }
    expect(await refusal(ours.signing(endpoint(TEXT, lost), 99))).toContain('WEBHOOK_SECRET_CANNOT_OPEN')
    expect(await ours.signing(endpoint(TEXT, lost), 100)).toEqual([TEXT])
  })
})

describe('the value', () => {
  const headersUnder = async (secrets: typeof ours, ...headers: [string, string][]) =>
    storedHeaders((await secrets.sealHeaders('e-1', headers)) as [string, string][])

  it('of a header opens for its own endpoint and name only', async () => {
    const headers = (await headersUnder(ours, ['X-Tenant', VALUE], ['X-Odd', 'v1."\\ {}'])) ?? ''
    expect(headers).not.toContain(VALUE)
    expect(await ours.headers({ id: 'e-1', headers })).toEqual({ 'X-Tenant': VALUE, 'X-Odd': 'v1."\\ {}' })
    const lower = headers.replace('X-Tenant', 'x-tenant')
    expect(await ours.headers({ id: 'e-1', headers: lower })).toMatchObject({ 'x-tenant': VALUE })
    for (const [id, moved] of [
      ['e-2', headers],
      ['e-1', headers.replace('X-Tenant', 'X-Other')],
    ] as const)
      expect(await refusal(ours.headers({ id, headers: moved }))).toMatch(
        new RegExp(`^WEBHOOK_SECRET_CANNOT_OPEN the header x-(tenant|other) of the webhook endpoint ${id}: `),
      )
    expect(await ours.headers({ id: 'e-1', headers: null })).toEqual({})
  })

  it('cannot stand in for a secret that signs, nor such a secret for it', async () => {
    const [[, sealed = ''] = []] = Object.entries(JSON.parse((await headersUnder(ours, ['X-A', TEXT])) ?? '{}'))
    expect(await refusal(ours.signing(endpoint(sealed as string), 0))).toMatch(/^WEBHOOK_SECRET_CANNOT_OPEN /)
    const headers = JSON.stringify({ 'X-A': await ours.seal('e-1', TEXT) })
    expect(await refusal(ours.headers({ id: 'e-1', headers }))).toMatch(/^WEBHOOK_SECRET_CANNOT_OPEN /)
  })

  it('is stored as JSON without a secret of the service, and said to be so', async () => {
    const headers = await headersUnder(secretsUnder(''), ['X-A', VALUE])
    expect(headers).toBe(JSON.stringify({ 'X-A': JSON.stringify(VALUE) }))
    expect(await ours.headers({ id: 'e-1', headers })).toEqual({ 'X-A': VALUE })
    const secret = await ours.seal('e-1', TEXT)
    expect(await ours.wrappings([{ ...endpoint(secret), headers }], 0)).toEqual(['secret', 'clear'])
    const damaged = JSON.stringify({ 'X-A': VALUE })
    expect(await refusal(ours.headers({ id: 'e-1', headers: damaged }))).toMatch(/its row is damaged$/)
  })
})
