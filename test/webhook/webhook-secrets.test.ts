import { describe, expect, it } from 'vitest'
import { systemRandom } from '#src/lib/random.ts'
import { createKeySealing } from '#src/token/key-sealing.ts'
import { createWebhookSecrets } from '#src/webhook/webhook-secrets.ts'

const SECRET = 'a secret of enough characters'
const OTHER = 'another secret, just as long'
const TEXT = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwTp4yKLBvDHo='
const FORMER = 'whsec_AAAA9r8GKYqrTwjUPD8ILPZIo2LaLaSwTp4yKLBvDHo='

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
