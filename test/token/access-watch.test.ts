import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AppError } from '#src/lib/app-error.ts'
import { systemRandom } from '#src/lib/random.ts'
import { createVersionWatch } from '#src/lib/version-watch.ts'
import type { Access } from '#src/token/access.ts'
import { type AccessWatch, createAccessWatch } from '#src/token/access-watch.ts'
import { createKeySealing } from '#src/token/key-sealing.ts'
import { tokenErrors } from '#src/token/token.errors.ts'
import { makeKey } from '#src/token/usable-key.ts'
import { addCustomer, PASSWORD, TestClock, testApp } from '../support/app/test-app.ts'

describe('a watched token', async () => {
  const service = await testApp({}, { withThreads: true })
  const { app, clock, customers, store } = service
  const watchOne = async (more = {}) => {
    const { id, email } = await addCustomer(service, { scope: 'operator', ...more })
    const { Token } = (await service.login({ Email: email, Password: PASSWORD })).json().data
    const watched = app.accessWatch.watch(await app.accessTokens.verify(Token, '127.0.0.1'))
    return { id, ...watched }
  }
  const refusalOf = ({ ended }: { ended: AbortSignal }) => (ended.aborted ? (ended.reason as AppError).code : 'goes on')

  it('ends with what ends its token, also without the rule, and with nothing else', async () => {
    type Change = [code: string, change: (id: string) => Promise<unknown>]
    const changes: Change[] = [
      ['TOKEN_REVOKED', (id) => customers.revokeTokens(id)],
      ['TOKEN_REVOKED', (id) => store.customers.disable(id, { reason: '', tokenGeneration: '' })],
      ...(['customer', 'feed', 'operator:support', 'operator:read'] as const).map(
        (scope): Change => ['TOKEN_REVOKED', (id) => store.customers.change(id, { scope })],
      ),
      ['TOKEN_REVOKED', (id) => store.customers.change(id, { isApi: false })],
      ['goes on', (id) => customers.set(id, { regions: ['TR', 'DE'], scope: 'operator' })],
      ['goes on', (id) => customers.allow(id, ['A'])],
    ]
    for (const [code, change] of changes) {
      const [one, other] = [await watchOne(), await watchOne()]
      await change(one.id)
      await app.accessWatch.check()
      expect([refusalOf(one), refusalOf(other)]).toEqual([code, 'goes on'])
      one.forget()
      other.forget()
    }
  })

  it('of support ends with its payloads, and goes on when it gets them or becomes more', async () => {
    const support = { scope: 'operator:support' as const }
    for (const [payloads, change, ending] of [
      [true, { payloads: false }, 'TOKEN_REVOKED'],
      [true, { scope: 'operator:read' }, 'goes on'],
      [false, { payloads: true }, 'goes on'],
      [false, { scope: 'operator' }, 'goes on'],
      [false, { scope: 'feed' }, 'TOKEN_REVOKED'],
    ] as const) {
      const one = await watchOne({ ...support, payloads })
      await store.customers.change(one.id, change)
      await app.accessWatch.check()
      expect([change, refusalOf(one)]).toEqual([change, ending])
      one.forget()
    }
  })

  it('ends by itself, without a request', async () => {
    const one = await watchOne()
    await customers.revokeTokens(one.id)
    await expect.poll(() => refusalOf(one), { timeout: 10_000 }).toBe('TOKEN_REVOKED')
  })

  it('ends with the key that signed it', async () => {
    const one = await watchOne()
    const [old] = await store.signingKeys.list()
    await makeKey(
      'ES256',
      clock.now() + 1,
      createKeySealing({ secret: '', formerSecret: '', random: systemRandom }),
    ).then((key) => store.signingKeys.rotate(key, old?.kid ?? '', clock.now()))
    await app.accessWatch.check()
    expect(refusalOf(one)).toBe('TOKEN_KEY_UNKNOWN')
  })

  it('ends when it expires', async () => {
    const one = await watchOne()
    clock.time += 3_600_000
    await expect.poll(() => refusalOf(one), { timeout: 10_000 }).toBe('TOKEN_EXPIRED')
  })
})

const access = (ask: () => Promise<unknown>, expiresAt = Number.POSITIVE_INFINITY): Access => {
  const again = () => ask().then(() => access(ask, expiresAt))
  return { again, expiresAt } as unknown as Access
}

interface Watched extends ReturnType<AccessWatch['watch']> {
  valid: boolean
  /** For which versions. */
  readonly asked: number[]
  forgotten: boolean
}

const REVOKED = new AppError(tokenErrors.revoked)

it('each token is asked about once a version, by whoever looks how often, and ends exactly if it is refused', async () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('watch' as const) }),
      fc.record({ kind: fc.constant('change' as const) }),
      fc.record({ kind: fc.constant('look' as const) }),
      fc.record({ kind: fc.constantFrom('revoke' as const, 'forget' as const), index: fc.nat(5) }),
    ),
    { maxLength: 40 },
  )
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      let version = 0
      const watch = createAccessWatch(
        createVersionWatch(async () => version, new TestClock()),
        new TestClock(),
      )
      const tokens: Watched[] = []
      for (const step of all) {
        if (step.kind === 'watch') {
          const token: Omit<Watched, 'ended' | 'forget'> = { valid: true, asked: [], forgotten: false }
          const again = async (): Promise<void> => {
            token.asked.push(version)
            if (!token.valid) throw REVOKED
          }
          tokens.push(Object.assign(token, watch.watch(access(again))))
        }
        if (step.kind === 'change') version++
        if ('index' in step) {
          const token = tokens[step.index]
          if (token === undefined) continue
          if (step.kind === 'forget') token.forget()
          if (step.kind === 'forget') token.forgotten ||= !token.ended.aborted
          // A revocation changes the version, too.
          if (step.kind === 'revoke') token.valid = false
          if (step.kind === 'revoke') version++
        }
        if (step.kind === 'look') {
          await Promise.all([watch.check(), watch.check()])
          for (const { valid, forgotten, ended } of tokens) expect(ended.aborted).toBe(!valid && !forgotten)
        }
      }
      for (const token of tokens) {
        expect(token.asked).toEqual([...new Set(token.asked)])
        token.forget()
      }
    }),
  )
})

it('a token that cannot be asked about goes on, is asked about again, and others end meanwhile', async () => {
  const store: { broken: boolean } = { broken: true }
  const version = async (): Promise<number> => {
    if (store.broken) throw new Error('no store')
    return 1
  }
  const watch = createAccessWatch(createVersionWatch(version, new TestClock()), new TestClock())
  const refuse = () => Promise.reject(REVOKED)
  const expired = watch.watch(access(refuse, 0))
  const revoked = watch.watch(access(refuse))
  const unknown = watch.watch(
    access(() => (store.broken ? Promise.reject(new Error('no row')) : Promise.reject(REVOKED))),
  )
  await expect(watch.check()).rejects.toThrow('no store')
  expect([expired.ended.aborted, revoked.ended.aborted]).toEqual([true, false])
  store.broken = false
  await watch.check()
  expect([revoked.ended.reason, unknown.ended.reason]).toEqual([REVOKED, REVOKED])
})
