import { decodeJwt, decodeProtectedHeader } from 'jose'
import { describe, expect, it, vi } from 'vitest'
import { addCustomer, PASSWORD, type TestApp, testApp, testAppBeside } from '../support/app/test-app.ts'
import { storesOfRun } from '../support/store/stores.ts'

const DAY = 86_400_000
const TTL = 3600_000
const LATE = 5 * 60_000

const issue = async (service: TestApp, email: string): Promise<string> => {
  const answer = await service.login({ Email: email, Password: PASSWORD })
  expect(answer.statusCode).toBe(200)
  return answer.json().data.Token
}
const kidOf = (token: string) => String(decodeProtectedHeader(token).kid)
const outcome = ({ app }: TestApp, token: string): Promise<string> =>
  app.accessTokens.verify(token, '127.0.0.1').then(
    () => 'accepted',
    (error: { code: string }) => error.code,
  )
const published = async ({ app }: TestApp): Promise<string[]> =>
  (await app.inject('/.well-known/jwks.json')).json().keys.map(({ kid }: { kid: string }) => kid)
const stored = async ({ store }: TestApp): Promise<string[]> => (await store.signingKeys.list()).map(({ kid }) => kid)

describe('a signing key', () => {
  it('is replaced when it is 90 days old, and verifies until its last token has expired', async () => {
    const service = await testApp({ TESLIM_SECRET: 'a secret of enough characters' }, { withThreads: true })
    const { email } = await addCustomer(service)
    const old = kidOf(await issue(service, email))
    service.clock.time += 90 * DAY - 1
    const last = await issue(service, email)
    expect(kidOf(last)).toBe(old)

    service.clock.time += 1
    const first = await issue(service, email)
    const fresh = kidOf(first)
    expect(fresh).not.toBe(old)
    expect([await published(service), await stored(service)]).toEqual([
      [fresh, old],
      [fresh, old],
    ])
    for (const { privateJwk } of await service.store.signingKeys.list()) expect(privateJwk).toMatch(/^v1\./)
    service.clock.time = Number(decodeJwt(last).exp) * 1000 - 1
    expect([await outcome(service, last), await outcome(service, first)]).toEqual(['accepted', 'accepted'])
    service.clock.time += 1
    expect(await outcome(service, last)).toBe('TOKEN_EXPIRED')

    service.clock.time += LATE + 1000
    expect(await outcome(service, last)).toBe('TOKEN_KEY_UNKNOWN')
    expect(kidOf(await issue(service, email))).toBe(fresh)
    expect([await published(service), await stored(service)]).toEqual([[fresh], [fresh]])
  })

  it('goes on signing if the store accepts no new one, and the log says so once a minute', async () => {
    const service = await testApp({}, { withThreads: true })
    const { email } = await addCustomer(service)
    const kid = kidOf(await issue(service, email))
    service.clock.time += 90 * DAY
    const rotate = vi.spyOn(service.store.signingKeys, 'rotate').mockRejectedValue(new Error('disk full'))
    expect([kidOf(await issue(service, email)), kidOf(await issue(service, email))]).toEqual([kid, kid])
    const warnings = () => service.log.filter(({ msg }) => String(msg).includes('could not be renewed'))
    expect(warnings()).toHaveLength(1)
    rotate.mockRestore()
    service.clock.time += 60_000
    expect(kidOf(await issue(service, email))).not.toBe(kid)
    expect(warnings()).toHaveLength(1)
  })
})

describe.each(storesOfRun())('replicas on one %s store', (_kind, emptyStore) => {
  const replicas = async (count: number, more = {}): Promise<[TestApp, TestApp, ...TestApp[]]> => {
    const first = await testApp({ ...(await emptyStore()), ...more }, { withThreads: true })
    const others = await Promise.all(Array.from({ length: count - 1 }, () => testAppBeside(first, more)))
    return [first, ...others] as [TestApp, TestApp, ...TestApp[]]
  }

  it('that find the key old at the same time make one new key, and agree on it', async () => {
    const all = await replicas(4, { TESLIM_SECRET: 'a secret of enough characters' })
    const customers = await Promise.all(all.map(() => addCustomer(all[0])))
    const issueAtAll = async (times: number): Promise<Set<string>> => {
      const turns = Array.from({ length: times }, () => all.map((each, n) => issue(each, customers[n]?.email ?? '')))
      return new Set((await Promise.all(turns.flat())).map(kidOf))
    }
    expect((await issueAtAll(1)).size).toBe(1)
    for (const { clock } of all) clock.time += 90 * DAY
    await issueAtAll(3)
    const kids = await stored(all[0])
    expect(kids).toHaveLength(2)
    for (const { clock } of all) clock.time += 1000
    expect(await issueAtAll(1)).toEqual(new Set([kids[0]]))
    for (const each of all) expect(await published(each)).toEqual(kids)

    for (const { clock } of all) clock.time += TTL + LATE
    expect(await published(all[1])).toEqual([kids[0]])
    expect(await stored(all[0])).toEqual([kids[0]])
  })

  it('verify at once what another one signed with a key new to them, and sign with it within a second', async () => {
    const [one, other] = await replicas(2)
    const { email } = await addCustomer(one)
    const old = kidOf(await issue(other, email))
    one.clock.time += 90 * DAY
    const token = await issue(one, email)
    expect(kidOf(token)).not.toBe(old)
    other.clock.time = one.clock.time - 90 * DAY
    expect(await outcome(other, token)).toBe('accepted')
    other.clock.time += 1000
    expect(kidOf(await issue(other, email))).toBe(kidOf(token))
  })

  it('all refuse at once the tokens of a customer whose tokens were ended at one of them', async () => {
    const [one, other] = await replicas(2)
    const end = {
      revoked: (id: string) => one.customers.revokeTokens(id),
      'given a new password': (id: string) => one.customers.setPassword(id, PASSWORD),
      disabled: (id: string) => one.customers.disable(id),
    }
    for (const [how, work] of Object.entries(end)) {
      const { email, id } = await addCustomer(one)
      const tokens = [await issue(one, email), await issue(other, email)]
      const everywhere = () => Promise.all([one, other].flatMap((each) => tokens.map((token) => outcome(each, token))))
      expect(await everywhere(), how).toEqual(['accepted', 'accepted', 'accepted', 'accepted'])
      await work(id)
      expect(await everywhere(), how).toEqual(Array(4).fill('TOKEN_REVOKED'))
      if (how !== 'disabled') expect(await outcome(other, await issue(one, email)), how).toBe('accepted')
    }
  })
})

describe('an unknown kid', () => {
  it('asks the store for keys at most ten times a second', async () => {
    const service = await testApp({}, { withThreads: true })
    const { email } = await addCustomer(service)
    const [, payload, signature] = (await issue(service, email)).split('.')
    const forged = (number: number): string => {
      const header = JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: `made-up-${number}` })
      return `${Buffer.from(header).toString('base64url')}.${payload}.${signature}`
    }
    // Once more because the key that was made has changed the version.
    const list = vi.spyOn(service.store.signingKeys, 'list')
    const numbers = Array.from({ length: 500 }, (_, number) => number)
    const outcomes = await Promise.all(numbers.map((number) => outcome(service, forged(number))))
    expect(new Set(outcomes)).toEqual(new Set(['TOKEN_KEY_UNKNOWN']))
    for (const number of numbers) {
      service.clock.time += 1
      await outcome(service, forged(number))
    }
    expect(list.mock.calls.length).toBeLessThanOrEqual(6 + 1)
  })
})
