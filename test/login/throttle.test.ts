import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { networkOf, siteOf } from '#src/lib/net/network.ts'
import {
  ADDRESS_LIMIT,
  delayAfter,
  type Limit,
  MANY_FAILURES,
  PAIR_LIMIT,
  SITE_LIMIT,
  UNKNOWN_PAIR_LIMIT,
  UNKNOWN_SITE_PAIR_LIMIT,
} from '#src/login/throttle.rule.ts'
import { createThrottle, digestsOf, type Throttle } from '#src/login/throttle.ts'
import { failure } from '../support/app/failure.ts'
import { addCustomer, PASSWORD, testApp, testAppBeside } from '../support/app/test-app.ts'
import { storesOfRun } from '../support/store/stores.ts'

const service = await testApp({}, { withThreads: true })
const { store, clock, login, log } = service
const throttle = createThrottle(store.loginFailures, clock)
const HOUR = 3_600_000
const wrong = { Password: 'not the password' }

/** Returns the seconds until the next try, 0 if this one was counted. */
const fails = async (email: string, address: string, at: Throttle = throttle): Promise<number> => {
  try {
    await (await at.attempt(email, address)).count()
    return 0
  } catch (error) {
    expect(error).toMatchObject({ code: 'LOGIN_THROTTLED', kind: 'throttled' })
    const { details } = error as { details: { retryAfterSeconds: number } }
    return details.retryAfterSeconds
  }
}
const succeeds = async (email: string, address: string, at: Throttle = throttle): Promise<void> => {
  const attempt = await at.attempt(email, address)
  await attempt.count()
  await attempt.succeeded()
}

describe('the delays', () => {
  it.each<[string, Limit]>([
    ['of an account from an address', PAIR_LIMIT],
    ['of an account under attack from an unknown address', UNKNOWN_PAIR_LIMIT],
    ['of an address', ADDRESS_LIMIT],
    ['of an account under attack from the unknown addresses of one /48', UNKNOWN_SITE_PAIR_LIMIT],
    ['of the unknown addresses of one /48', SITE_LIMIT],
  ])('%s never shrink, begin after the free failures, and end at the longest', (_, limit) => {
    const delays = Array.from({ length: limit.free + 100 }, (_, count) => delayAfter(count, limit))
    expect(delays).toEqual(delays.toSorted((a, b) => a - b))
    expect(delays[limit.free - 1]).toBe(0)
    expect(delays[limit.free]).toBe(limit.firstDelay)
    expect(delays.at(-1)).toBe(limit.maxDelay)
    expect(limit.forgetAfter).toBeGreaterThanOrEqual(limit.maxDelay)
  })
})

/** Counts as many failures of an account as raise the alarm, none of them from an address of the tests. */
async function attack(email: string): Promise<void> {
  const name = digestsOf(email, '192.0.2.9').account ?? expect.unreachable()
  const failure = { name, expiresAt: clock.time + 24 * HOUR }
  await store.loginFailures.count(new Array(MANY_FAILURES).fill(failure), clock.time)
}

/** Says what docs/decisions/0009-login-throttle.md says, for attempts that come one after the other. */
function throttleModel() {
  interface Failures {
    count: number
    lastAt: number
    expiresAt: number
  }
  const kept = new Map<string, Failures>()
  const known = new Set<string>()
  const live = (name: string): Failures => {
    const found = kept.get(name)
    return found && found.expiresAt > clock.time ? found : { count: 0, lastAt: 0, expiresAt: 0 }
  }
  const counters = (email: string, address: string, site: string | undefined) => {
    const isUnknown = !known.has(`${email} ${address}`)
    const isAttacked = live(email).count >= MANY_FAILURES
    const strict = isUnknown && isAttacked
    const hours = (name: string): number => (live(name).count < 9 ? 1 : 24)
    const list: [name: string, limit: Limit | undefined, hours: number][] = [
      [`${email} ${address}`, strict ? UNKNOWN_PAIR_LIMIT : PAIR_LIMIT, strict ? 24 : 1],
      [address, ADDRESS_LIMIT, 1],
      [email, undefined, hours(email)],
    ]
    if (site !== undefined && isUnknown) {
      const pair = `${email} site ${site}`
      list.push([pair, strict ? UNKNOWN_SITE_PAIR_LIMIT : undefined, strict ? 24 : hours(pair)])
      list.push([`site ${site}`, SITE_LIMIT, 1])
    }
    return list
  }
  return {
    /** Seconds until the next try. */
    wait(...who: [email: string, address: string, site: string | undefined]): number {
      const untils = counters(...who).map(([name, limit]) => {
        const delay = limit === undefined ? 0 : delayAfter(live(name).count, limit)
        return delay === 0 ? 0 : live(name).lastAt + delay - clock.time
      })
      return Math.ceil(Math.max(0, ...untils) / 1000)
    },
    fail(...who: [email: string, address: string, site: string | undefined]): void {
      for (const [name, , hours] of counters(...who))
        kept.set(name, { count: live(name).count + 1, lastAt: clock.time, expiresAt: clock.time + hours * HOUR })
    },
    succeed(...[email, address, site]: [email: string, address: string, site: string | undefined]): void {
      for (const [name, , hours] of counters(email, address, site))
        kept.set(name, { ...live(name), expiresAt: clock.time + hours * HOUR })
      kept.delete(`${email} ${address}`)
      known.add(`${email} ${address}`)
    },
    attack(email: string): void {
      kept.set(email, {
        count: live(email).count + MANY_FAILURES,
        lastAt: clock.time,
        expiresAt: clock.time + 24 * HOUR,
      })
    },
  }
}

describe('the throttle', () => {
  it('behaves as the model does, in any order of events', async () => {
    let run = 0
    const attempt = { account: fc.nat(1), address: fc.nat(4) }
    const step = fc.oneof(
      { weight: 8, arbitrary: fc.record({ kind: fc.constant('fail' as const), ...attempt }) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('succeed' as const), ...attempt }) },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant('wait' as const),
          seconds: fc.constantFrom(1, 2, 30, 60, 900, 3599, 3600),
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('attack' as const), account: fc.nat(1) }) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        run++
        const group = run.toString(16)
        const emailOf = (account: number): string => `${run}-${account}@x.y`
        // Two of IPv4, and three /64 in two /48.
        const addresses = [
          `10.${run >> 8}.${run & 255}.0`,
          `10.${run >> 8}.${run & 255}.1`,
          `2001:db8:${group}:0::1`,
          `2001:db8:${group}:1::1`,
          `2001:db9:${group}:0::1`,
        ]
        const model = throttleModel()
        for (const each of steps) {
          if (each.kind === 'wait') {
            clock.time += each.seconds * 1000
            continue
          }
          const email = emailOf(each.account)
          if (each.kind === 'attack') {
            await attack(email)
            model.attack(email)
            continue
          }
          const address = addresses[each.address] ?? ''
          const site = each.address < 2 ? undefined : address.slice(0, address.lastIndexOf(':', address.length - 4))
          const seconds = model.wait(email, address, site)
          if (seconds > 0) {
            expect(await fails(email, address)).toBe(seconds)
          } else if (each.kind === 'fail') {
            expect(await fails(email, address)).toBe(0)
            model.fail(email, address, site)
          } else {
            await succeeds(email, address)
            model.succeed(email, address, site)
          }
        }
        // Whatever was done from there: from a clean address both accounts open at once.
        for (const account of [0, 1]) {
          await succeeds(emailOf(account), `172.16.${run >> 8}.${run & 255}`)
          await succeeds(emailOf(account), `2001:dba:${group}:${account}::1`)
        }
      }),
      { numRuns: 60 },
    )
  })

  describe.each(storesOfRun())('on %s', (_kind, emptyStore) => {
    it('lets one IPv6 /48 guess once an hour when an account is under attack, and delays neither known nor clean addresses', async () => {
      const { store } = await testApp(await emptyStore(), { withThreads: true })
      const own = createThrottle(store.loginFailures, clock)
      const tries = (email: string, address: string): Promise<number> => fails(email, address, own)
      const email = 'attacked-from-a-site@x.y'
      await succeeds(email, '2001:db8:48:ffff::1', own)
      const outcomes: number[] = []
      for (let n = 0; n < 260; n++) outcomes.push(await tries(email, `2001:db8:48:${n.toString(16)}::1`))
      expect(outcomes.filter((seconds) => seconds === 0)).toHaveLength(MANY_FAILURES)
      expect(outcomes.at(-1)).toBe(UNKNOWN_SITE_PAIR_LIMIT.maxDelay / 1000)
      clock.time += UNKNOWN_SITE_PAIR_LIMIT.maxDelay
      expect(await tries(email, '2001:db8:48:a000::1')).toBe(0)
      expect(await tries(email, '2001:db8:48:a001::1')).toBe(3600)
      // Another /48 has its free tries, also all at once.
      const others = await Promise.all(Array.from({ length: 20 }, (_, n) => tries(email, `2001:db8:49:${n}::1`)))
      expect(others.filter((seconds) => seconds === 0)).toHaveLength(UNKNOWN_SITE_PAIR_LIMIT.free)
      for (const clean of ['2001:db8:48:ffff::2', '2001:db8:50::1', '198.51.100.50']) await succeeds(email, clean, own)
    })
  })

  it('slows the unknown addresses of a /48 that try many accounts, but not those that logged in before', async () => {
    await succeeds('resident@x.y', '2001:db8:51:1::1')
    // The failures of a known address do not count for its /48.
    for (let n = 0; n < PAIR_LIMIT.free; n++) expect(await fails('resident@x.y', '2001:db8:51:1::1')).toBe(0)
    clock.time += 1000
    for (let n = 0; n < SITE_LIMIT.free; n++)
      expect(await fails(`spray-${n}@x.y`, `2001:db8:51:${(n + 2).toString(16)}::1`)).toBe(0)
    expect(await fails('spray@x.y', '2001:db8:51:fff0::1')).toBe(1)
    expect(await fails('spray@x.y', '2001:db8:52::1')).toBe(0)
    await succeeds('resident@x.y', '2001:db8:51:1::2')
  })

  it('gives concurrent attempts no more than the free tries', async () => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => fails('many@x.y', '192.0.2.1')))
    expect(outcomes.filter((seconds) => seconds === 0)).toHaveLength(PAIR_LIMIT.free)
    expect(outcomes.filter((seconds) => seconds > 0)).toHaveLength(20 - PAIR_LIMIT.free)
    clock.time += 1000
    expect(await fails('many@x.y', '192.0.2.1')).toBe(0)
    expect(await fails('many@x.y', '192.0.2.1')).toBe(2)
  })

  it('refuses an attempt that waited while others failed, without counting it', async () => {
    const attempt = await throttle.attempt('waited@x.y', '192.0.2.7')
    for (let n = 0; n < PAIR_LIMIT.free; n++) expect(await fails('waited@x.y', '192.0.2.7')).toBe(0)
    const count = vi.spyOn(store.loginFailures, 'count')
    await expect(attempt.count()).rejects.toMatchObject({ code: 'LOGIN_THROTTLED' })
    expect(count).not.toHaveBeenCalled()
    count.mockRestore()
    clock.time += 1000
    await attempt.count()
    await attempt.succeeded()
  })

  it('slows an address that tries many accounts, and does not count a success as a failure', async () => {
    for (let n = 0; n < ADDRESS_LIMIT.free; n++) {
      await succeeds('customer@x.y', '192.0.2.2')
      expect(await fails(`spray-${n}@x.y`, '192.0.2.2')).toBe(0)
    }
    expect(await fails('spray@x.y', '192.0.2.2')).toBe(1)
    expect(await fails('spray@x.y', '192.0.2.3')).toBe(0)
    clock.time += 1000
    await succeeds('customer@x.y', '192.0.2.2')
    // A success does not start the delay again either.
    expect(await fails('spray@x.y', '192.0.2.2')).toBe(0)
  })

  it('forgets failures after their time', async () => {
    for (let n = 0; n < PAIR_LIMIT.free; n++) await fails('forgotten@x.y', '192.0.2.4')
    expect(await fails('forgotten@x.y', '192.0.2.4')).toBe(1)
    clock.time += HOUR
    for (let n = 0; n < PAIR_LIMIT.free; n++) expect(await fails('forgotten@x.y', '192.0.2.4')).toBe(0)
  })

  it('delays nobody for a free failure that a replica counted a moment later', async () => {
    clock.time += 30
    expect(await fails('ahead@x.y', '192.0.2.6')).toBe(0)
    clock.time -= 30
    expect(await fails('ahead@x.y', '192.0.2.6')).toBe(0)
    clock.time += 30
  })

  it('delays nobody for longer after the clock was set back', async () => {
    for (let n = 0; n <= PAIR_LIMIT.free; n++) await fails('clock@x.y', '192.0.2.5')
    clock.time -= 24 * HOUR
    expect(await fails('clock@x.y', '192.0.2.5')).toBe(0)
    expect(await fails('clock@x.y', '192.0.2.5')).toBeGreaterThan(0)
    clock.time += 24 * HOUR
  })
})

describe('the address that counts', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1', undefined],
    ['::ffff:192.0.2.1', '192.0.2.1', undefined],
    ['::FFFF:c000:0201', '192.0.2.1', undefined],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['2001:0db8:0001:0002::192.0.2.1', '2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['::1', '::/64', '::/48'],
    ['fe80::1%eth0', 'fe80::/64', 'fe80::/48'],
    ['1:2::', '1:2::/64', '1:2::/48'],
    ['unknown', 'unknown', undefined],
  ])('of %s is %s, in %s', (address, network, site) => {
    expect([networkOf(address), siteOf(address)]).toEqual([network, site])
  })
})

describe('a login that is throttled', () => {
  const failFreely = async (app: typeof service, email: string, remoteAddress: string): Promise<void> => {
    for (let n = 0; n < PAIR_LIMIT.free; n++) {
      expect((await app.login({ Email: email, ...wrong }, { remoteAddress })).statusCode).toBe(400)
    }
  }

  it.each([['a customer'], ['nobody']])(
    '(%s) is a 429 with Retry-After whatever the password, hashes nothing, and opens elsewhere',
    async (who) => {
      const email = who === 'nobody' ? 'nobody@x.y' : (await addCustomer(service)).email
      const remoteAddress = who === 'nobody' ? '10.9.0.1' : '10.9.0.2'
      await failFreely(service, email, remoteAddress)
      const answers = []
      for (const Password of [PASSWORD, wrong.Password]) {
        log.length = 0
        const answer = await login({ Email: email, Password }, { remoteAddress, headers: { 'x-request-id': 'same' } })
        expect(answer.statusCode).toBe(429)
        expect(answer.headers['retry-after']).toBe('1')
        expect(answer.json()).toEqual(
          failure('LOGIN_THROTTLED', { message: 'Too many failed logins: try again in 1 second.' }),
        )
        expect(log).toMatchObject([{ status: 429, errorCode: 'LOGIN_THROTTLED', address: remoteAddress }])
        answers.push(answer.payload)
      }
      expect(answers[0]).toBe(answers[1])
      const elsewhere = await login({ Email: email, Password: PASSWORD }, { remoteAddress: '10.9.0.3' })
      expect(elsewhere.statusCode).toBe(who === 'nobody' ? 400 : 200)
      clock.time += 1000
      const later = await login({ Email: email, Password: PASSWORD }, { remoteAddress })
      expect(later.statusCode).toBe(who === 'nobody' ? 400 : 200)
      if (who !== 'nobody') await failFreely(service, email, remoteAddress)
    },
  )

  it('is not recognised by a password that was right a moment ago', async () => {
    const { email } = await addCustomer(service)
    const good = { Email: email, Password: PASSWORD }
    expect((await login(good, { remoteAddress: '10.9.1.1' })).statusCode).toBe(200)
    await failFreely(service, email, '10.9.1.2')
    expect((await login(good, { remoteAddress: '10.9.1.2' })).statusCode).toBe(429)
    expect((await login(good, { remoteAddress: '10.9.1.1' })).statusCode).toBe(200)
  })

  it('comes from the next /64 of a guessing /48, while the right password opens from a known /64 and from elsewhere', async () => {
    const { email } = await addCustomer(service)
    const good = { Email: email, Password: PASSWORD }
    const statusFrom = async (remoteAddress: string, body: object): Promise<number> =>
      (await login({ Email: email, ...body }, { remoteAddress })).statusCode
    expect(await statusFrom('2001:db8:60:ffff::1', good)).toBe(200)
    await attack(email)
    for (let n = 0; n < UNKNOWN_SITE_PAIR_LIMIT.free; n++)
      expect(await statusFrom(`2001:db8:60:${n}::1`, wrong)).toBe(400)
    for (const body of [wrong, good]) expect(await statusFrom('2001:db8:60:9::1', body)).toBe(429)
    for (const clean of ['2001:db8:60:ffff::1', '2001:db8:61::1', '10.9.3.1']) {
      expect(await statusFrom(clean, good)).toBe(200)
    }
  })

  it('was one of twenty different wrong ones at once', async () => {
    const { email } = await addCustomer(service)
    const options = { remoteAddress: '10.9.2.1' }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => login({ Email: email, Password: `wrong ${n}` }, options)),
    )
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([
      ...new Array(PAIR_LIMIT.free).fill(400),
      ...new Array(20 - PAIR_LIMIT.free).fill(429),
    ])
  })

  it('is none of twenty correct ones at once, remembered or not', async () => {
    for (const TESLIM_LOGIN_MEMORY of ['300', '0']) {
      const fresh = await testApp({ TESLIM_LOGIN_MEMORY }, { withThreads: true })
      const { email } = await addCustomer(fresh)
      const good = { Email: email, Password: PASSWORD }
      const answers = await Promise.all(Array.from({ length: 20 }, () => fresh.login(good)))
      expect(answers.map(({ statusCode }) => statusCode)).toEqual(new Array(20).fill(200))
    }
  })

  it.each(storesOfRun('postgres'))('is throttled at every replica', async (_kind, emptyStore) => {
    const one = await testApp(await emptyStore(), { withThreads: true })
    const other = await testAppBeside(one)
    const { email } = await addCustomer(one)
    const attempts = Array.from({ length: 20 }, (_, n) =>
      (n % 2 ? one : other).login({ Email: email, Password: `wrong ${n}` }),
    )
    const statuses = (await Promise.all(attempts)).map(({ statusCode }) => statusCode)
    expect(statuses.filter((status) => status === 400)).toHaveLength(PAIR_LIMIT.free)
    expect(statuses.filter((status) => status === 429)).toHaveLength(20 - PAIR_LIMIT.free)
    for (const replica of [one, other]) {
      const answer = await replica.login({ Email: email, Password: PASSWORD })
      expect(answer.statusCode).toBe(429)
      expect(answer.headers['retry-after']).toBe('1')
      expect(
        (await replica.login({ Email: email, Password: PASSWORD }, { remoteAddress: '10.0.0.9' })).statusCode,
      ).toBe(200)
    }
  })
})
