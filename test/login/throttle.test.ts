import fc from 'fast-check'
import { describe, expect, inject, it } from 'vitest'
import { clientNetwork } from '#src/login/client-network.ts'
import {
  ADDRESS_LIMIT,
  delayAfter,
  type Limit,
  MANY_FAILURES,
  PAIR_LIMIT,
  STRANGER_LIMIT,
} from '#src/login/throttle.rule.ts'
import { attemptOf, createThrottle } from '#src/login/throttle.ts'
import { failure } from '../support/failure.ts'
import { newDatabase } from '../support/postgres-server.ts'
import { addCustomer, PASSWORD, testApp, testAppBeside } from '../support/test-app.ts'

const service = await testApp()
const { store, clock, login, log } = service
const throttle = createThrottle(store.loginFailures, clock)
const HOUR = 3_600_000
const wrong = { Password: 'not the password' }

const fails = async (email: string, address: string): Promise<number> => {
  try {
    await throttle.count(attemptOf(email, address))
    return 0
  } catch (error) {
    const { details } = error as { details: { retryAfterSeconds: number } }
    return details.retryAfterSeconds
  }
}
const succeeds = async (email: string, address: string): Promise<void> =>
  throttle.succeeded(await throttle.count(attemptOf(email, address)))

describe('the delays', () => {
  it.each<[string, Limit]>([
    ['of an account from an address', PAIR_LIMIT],
    ['of an account under attack from a strange address', STRANGER_LIMIT],
    ['of an address', ADDRESS_LIMIT],
  ])('%s never shrink, begin after the free failures, and end at the longest', (_, limit) => {
    const delays = Array.from({ length: 100 }, (_, count) => delayAfter(count, limit))
    expect(delays).toEqual(delays.toSorted((a, b) => a - b))
    expect(delays[limit.free - 1]).toBe(0)
    expect(delays[limit.free]).toBe(limit.firstDelay)
    expect(delays.at(-1)).toBe(limit.longestDelay)
    expect(limit.forgetAfter).toBeGreaterThanOrEqual(limit.longestDelay)
  })
})

describe('the throttle', () => {
  it('behaves as the model does, in any order of events', async () => {
    let run = 0
    const step = fc.oneof(
      fc.record({ kind: fc.constant('fail' as const), account: fc.nat(1), address: fc.nat(1) }),
      fc.record({ kind: fc.constant('succeed' as const), account: fc.nat(1), address: fc.nat(1) }),
      fc.record({ kind: fc.constant('wait' as const), seconds: fc.constantFrom(1, 2, 30, 900, 3599, 3600) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        run++
        const model = new Map<string, { count: number; lastAt: number }>()
        const pairs = (account: number, address: number): [string, string] => [
          `${run}-${account}@x.y`,
          `10.${run >> 8}.${run & 255}.${address}`,
        ]
        for (const each of steps) {
          if (each.kind === 'wait') {
            clock.time += each.seconds * 1000
            continue
          }
          const [email, address] = pairs(each.account, each.address)
          const attempt = attemptOf(email, address)
          const key = `${email} ${address}`
          const kept = model.get(key)
          const known = kept && clock.time - kept.lastAt < HOUR ? kept : { count: 0, lastAt: 0 }
          const until = known.lastAt + delayAfter(known.count, PAIR_LIMIT)
          if (clock.time < until) {
            const seconds = Math.ceil((until - clock.time) / 1000)
            await expect(throttle.look(attempt)).rejects.toMatchObject({
              code: 'LOGIN_THROTTLED',
              details: { retryAfterSeconds: seconds },
            })
          } else if (each.kind === 'fail') {
            expect(await fails(email, address)).toBe(0)
            model.set(key, { count: known.count + 1, lastAt: clock.time })
          } else {
            await succeeds(email, address)
            model.delete(key)
          }
        }
        // Whatever was done from there: from a clean address both accounts open at once.
        for (const account of [0, 1]) await succeeds(pairs(account, 0)[0], `172.16.${run >> 8}.${run & 255}`)
      }),
      { numRuns: 60 },
    )
  })

  it('gives concurrent attempts no more than the free tries', async () => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => fails('many@x.y', '192.0.2.1')))
    expect(outcomes.filter((seconds) => seconds === 0)).toHaveLength(PAIR_LIMIT.free)
    expect(outcomes.filter((seconds) => seconds > 0)).toHaveLength(20 - PAIR_LIMIT.free)
    clock.time += 1000
    expect(await fails('many@x.y', '192.0.2.1')).toBe(0)
    expect(await fails('many@x.y', '192.0.2.1')).toBe(2)
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

  it('slows unknown addresses further after many failures of an account, but not known addresses or first tries', async () => {
    const email = 'attacked@x.y'
    await succeeds(email, '198.51.100.1')
    for (let n = 0; n < MANY_FAILURES; n++) expect(await fails(email, `203.0.113.${n}`)).toBe(0)
    expect(await fails(email, '203.0.113.200')).toBe(0)
    expect(await fails(email, '203.0.113.200')).toBe(60)
    clock.time += 60_000
    expect(await fails(email, '203.0.113.200')).toBe(0)
    expect(await fails(email, '203.0.113.200')).toBe(120)
    for (let n = 0; n < PAIR_LIMIT.free; n++) expect(await fails(email, '198.51.100.1')).toBe(0)
    expect(await fails(email, '198.51.100.1')).toBe(1)
    await succeeds(email, '203.0.113.201')
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
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:0201', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::192.0.2.1', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['1:2::', '1:2:0:0::/64'],
    ['unknown', 'unknown'],
  ])('of %s is %s', (address, network) => {
    expect(clientNetwork(address)).toBe(network)
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

  it('was one of twenty wrong ones at once', async () => {
    const { email } = await addCustomer(service)
    const options = { remoteAddress: '10.9.2.1' }
    const answers = await Promise.all(Array.from({ length: 20 }, () => login({ Email: email, ...wrong }, options)))
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([
      ...new Array(PAIR_LIMIT.free).fill(400),
      ...new Array(20 - PAIR_LIMIT.free).fill(429),
    ])
  })

  it('is none of twenty correct ones at once, remembered or not', async () => {
    for (const TESLIM_LOGIN_MEMORY of ['300', '0']) {
      const fresh = await testApp({ TESLIM_LOGIN_MEMORY })
      const { email } = await addCustomer(fresh)
      const good = { Email: email, Password: PASSWORD }
      const answers = await Promise.all(Array.from({ length: 20 }, () => fresh.login(good)))
      expect(answers.map(({ statusCode }) => statusCode)).toEqual(new Array(20).fill(200))
    }
  })

  it('is throttled at every replica', async () => {
    const one = await testApp({ DATABASE_URL: await newDatabase(inject('postgresUrl')) })
    const other = await testAppBeside(one)
    const { email } = await addCustomer(one)
    const attempts = Array.from({ length: 20 }, (_, n) => (n % 2 ? one : other).login({ Email: email, ...wrong }))
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
