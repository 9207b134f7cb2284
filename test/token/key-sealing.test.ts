import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { systemRandom } from '#src/lib/random.ts'
import { createKeySealing } from '#src/token/key-sealing.ts'
import { importKey, makeKey } from '#src/token/usable-key.ts'

const SECRET = 'a secret of enough characters'
const OTHER = 'another secret, just as long'
const sealing = (secret: string, formerSecret = '') => createKeySealing({ secret, formerSecret, random: systemRandom })
const ours = sealing(SECRET)

const refusal = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'opened',
    ({ code, details }) => `${code} ${details.reason}`,
  )

describe('a sealed key', () => {
  it('opens to the same text, under its own kid only', async () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1 }).map((rest) => `{${rest}`)
    await fc.assert(
      fc.asyncProperty(fc.string(), text, async (kid, plain) => {
        const sealed = await ours.seal(kid, plain)
        expect(await ours.open(kid, sealed)).toEqual({ text: plain, wrapping: 'secret' })
        expect(await refusal(ours.open(`${kid}x`, sealed))).toContain('SIGNING_KEY_CANNOT_OPEN')
      }),
    )
  })

  it('shows nothing of the private key, and looks different each time', async () => {
    const made = await Promise.all([1, 2].map(() => makeKey('ES256', 1, ours)))
    for (const key of made) {
      const { text } = await ours.open(key.kid, key.privateJwk)
      const { d } = JSON.parse(text)
      expect(d).toMatch(/^[\w-]{43}$/)
      expect(key.privateJwk).toMatch(/^v1\.[\w-]{16}\.[\w-]+$/)
      for (const encoded of [d, Buffer.from(d, 'base64url').toString('hex'), Buffer.from(d).toString('base64url')]) {
        expect(key.privateJwk).not.toContain(encoded)
      }
      expect(Buffer.from(key.privateJwk.split('.')[2] ?? '', 'base64url').includes(Buffer.from(d, 'base64url'))).toBe(
        false,
      )
      expect(await ours.seal(key.kid, text)).not.toBe(key.privateJwk)
      expect((await importKey(key, ours)).wrapping).toBe('secret')
    }
  })

  it('does not open after any one character was changed, removed or added', async () => {
    const key = await makeKey('EdDSA', 1, ours)
    const sealed = key.privateJwk
    const opened = (privateJwk: string) => refusal(importKey({ ...key, privateJwk }, ours))
    expect(await opened(sealed)).toBe('opened')
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.={'
    const stillOpened: string[] = []
    for (let at = 0; at <= sealed.length; at++) {
      const [before, after] = [sealed.slice(0, at), sealed.slice(at + 1)]
      const changed = [...letters].filter((letter) => letter !== sealed[at]).map((letter) => before + letter + after)
      for (const text of [...changed, before + after, `${before}A${sealed.slice(at)}`, before]) {
        if (text !== sealed && !(await opened(text)).includes('SIGNING_KEY_CANNOT_OPEN')) stillOpened.push(text)
      }
    }
    expect(stillOpened).toEqual([])
  })

  it('under the former secret is recognised as such', async () => {
    const old = await sealing(OTHER).seal('k', '{}')
    expect(await sealing(SECRET, OTHER).open('k', old)).toEqual({ text: '{}', wrapping: 'former' })
  })

  it('says which variable is wrong, and never its value', async () => {
    const sealed = await ours.seal('k', '{}')
    const reasons = [
      await refusal(sealing(OTHER).open('k', sealed)),
      await refusal(sealing(OTHER, 'yet another secret').open('k', sealed)),
      await refusal(sealing('').open('k', sealed)),
      await refusal(ours.open('k', 'v2.x')),
    ]
    expect(reasons).toEqual([
      expect.stringMatching(/signing key k: TESLIM_SECRET .*TESLIM_SECRET_OLD and run teslim signing-key rewrap/),
      expect.stringMatching(/neither TESLIM_SECRET nor TESLIM_SECRET_OLD/),
      expect.stringMatching(/it is encrypted, and neither TESLIM_SECRET nor TESLIM_SECRET_FILE is set/),
      expect.stringMatching(/its row is damaged/),
    ])
    expect(reasons.join()).not.toContain('secret of enough')
  })
})

describe('without a secret', () => {
  it('a key is stored as it is, and opens with and without one', async () => {
    const text = '{"kty":"OKP"}'
    expect(await sealing('').seal('k', text)).toBe(text)
    for (const each of [sealing(''), ours]) expect(await each.open('k', text)).toEqual({ text, wrapping: 'clear' })
  })

  it.each(['{', '{"kty":"EC","crv":"P-256","x":"AA","y":"AA","d":"SECRETPART"}', '{"d":"SECRETPART"'])(
    'a row that is damaged, such as %j, is refused without quoting it',
    async (privateJwk) => {
      const key = { kid: 'k', algorithm: 'ES256', privateJwk, createdAt: 1, expiresAt: null }
      const error = await importKey(key, ours).catch((thrown: Error) => thrown)
      expect(error).toMatchObject({ code: 'SIGNING_KEY_CANNOT_OPEN', cause: undefined })
      expect(JSON.stringify(error) + String((error as Error).stack)).not.toContain('SECRETPART')
    },
  )
})
