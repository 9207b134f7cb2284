import { availableParallelism } from 'node:os'
import { decodeJwt } from 'jose'
import { describe, expect, it, vi } from 'vitest'
import { systemRandom } from '#src/lib/random.ts'
import { createHashQueue, createHashWorkers, passwords } from '#src/login/hashing.ts'
import { createPasswordMemory } from '#src/login/password-memory.ts'
import { createRefusalDelay } from '#src/login/refusal-delay.ts'
import { PAIR_LIMIT } from '#src/login/throttle.rule.ts'
import { createThrottle } from '#src/login/throttle.ts'
import { ruleOf } from '../support/app/log-in.ts'
import { addCustomer, PASSWORD, TestClock, testApp } from '../support/app/test-app.ts'

const task = (key: string, more = {}) => ({ key, isPreferred: false, isAwaited: () => true, ...more })
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('the queue', () => {
  it('runs a few at a time, preferred ones first, and refuses those for which there is no room', async () => {
    const queue = createHashQueue({ maxRunning: 2, maxWaiting: 2 })
    const running: string[] = []
    const finish = new Map<string, (result: boolean) => void>()
    const run = (name: string, more = {}) =>
      queue.run(task(name, more), () => {
        running.push(name)
        return new Promise((resolve) => finish.set(name, resolve))
      })
    const runs = ['a', 'b', 'c', 'd'].map((name) => run(name))
    await settled()
    expect(running).toEqual(['a', 'b'])
    await expect(run('e')).rejects.toMatchObject({ code: 'LOGIN_OVERLOADED', kind: 'overloaded' })
    runs.push(run('known', { isPreferred: true }))
    for (const [name, next] of Object.entries({ b: 'known', known: 'c', c: 'd' })) {
      finish.get(name)?.(name === 'c')
      await settled()
      expect(running.at(-1)).toBe(next)
    }
    for (const name of ['a', 'd']) finish.get(name)?.(true)
    expect(await Promise.all(runs)).toEqual([true, false, true, true, false])
    expect(running).toHaveLength(5)
  })

  it('does the work once for all that share a key, and again for whoever comes after its end', async () => {
    const queue = createHashQueue({ maxRunning: 1, maxWaiting: 1 })
    let done = 0
    const work = async () => ++done === 1
    const first = ['same', 'same', 'other', 'same'].map((key) => queue.run(task(key), work))
    expect(queue.waiting()).toBe(1)
    expect(await Promise.all(first)).toEqual([true, true, false, true])
    expect(await queue.run(task('same'), work)).toBe(false)
    expect(done).toBe(3)
  })

  it('is free again after work that fails, which fails for all that share it', async () => {
    const queue = createHashQueue({ maxRunning: 1, maxWaiting: 1 })
    const failing = () => Promise.reject(new Error('no'))
    const runs = [1, 2].map(() => queue.run(task('a'), failing))
    for (const run of runs) await expect(run).rejects.toThrow('no')
    expect(await queue.run(task('a'), async () => true)).toBe(true)
  })

  it('works for those that are still connected, and not at all if none of them is', async () => {
    const queue = createHashQueue({ maxRunning: 1, maxWaiting: 3 })
    const work = vi.fn(async () => true)
    await expect(queue.run(task('gone', { isAwaited: () => false }), work)).rejects.toMatchObject({
      code: 'CLIENT_GONE',
    })
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const before = queue.run(task('before'), () => promise)
    const sharers = [false, true, false].map((isAwaited) =>
      queue.run(task('shared', { isAwaited: () => isAwaited }), work),
    )
    const gone = [1, 2].map(() => queue.run(task('gone', { isAwaited: () => false }), work))
    let joined: Promise<boolean> | undefined
    const joining = queue.run(
      task('joining', {
        // Joins in the moment in which the others are given up.
        isAwaited: () => {
          queueMicrotask(() => {
            joined = queue.run(task('joining'), work)
          })
          return false
        },
      }),
      work,
    )
    resolve(false)
    expect(await before).toBe(false)
    expect(await Promise.all(sharers)).toEqual([true, true, true])
    for (const run of [...gone, joining]) await expect(run).rejects.toMatchObject({ code: 'CLIENT_GONE' })
    expect(await joined).toBe(true)
    expect(work).toHaveBeenCalledTimes(2)
  })
})

describe('the hashing threads', () => {
  it('hash and verify like the main thread, and a failing request fails alone', async () => {
    const workers = createHashWorkers(2)
    try {
      const made = await workers.hash(PASSWORD)
      expect(await passwords.verify(made, PASSWORD)).toBe(true)
      const odd = ' \0\u0130\u{1f9fe}'
      const oddHash = await passwords.hash(odd)
      const outcomes = await Promise.allSettled([
        workers.verify(made, PASSWORD),
        workers.verify(made, `${PASSWORD} `),
        workers.verify('not a hash', PASSWORD),
        workers.verify(oddHash, odd),
      ])
      expect(outcomes).toMatchObject([{ value: true }, { value: false }, { status: 'rejected' }, { value: true }])
    } finally {
      await workers.close()
    }
  })

  it('reject pending work when they are closed, which counts no login failure', async () => {
    const service = await testApp({}, { withThreads: true })
    const { email } = await addCustomer(service)
    const workers = createHashWorkers(1)
    const throttle = createThrottle(service.store.loginFailures, service.clock)
    const verify: typeof workers.verify = async (...work) => {
      const verifying = workers.verify(...work)
      verifying.catch(() => undefined)
      await workers.close()
      return verifying
    }
    const logIn = ruleOf(service, { throttle, passwords: { ...passwords, verify } })
    for (let n = 0; n < 20; n++) await expect(logIn(email, 'wrong')).rejects.toMatchObject({ code: 'LOGIN_OVERLOADED' })
  })
})

describe('logins that come at once', () => {
  /** The rule of a service, and how often it hashes. Its hashes end when they are told to. */
  const setUp = async () => {
    const service = await testApp({}, { withThreads: true })
    const customer = await addCustomer(service, { regions: ['DE', 'TR'] })
    const hashes: PromiseWithResolvers<void>[] = []
    const verify = vi.fn(async (...args: Parameters<typeof passwords.verify>) => {
      const hash = Promise.withResolvers<void>()
      hashes.push(hash)
      await hash.promise
      return passwords.verify(...args)
    })
    const queue = createHashQueue({ maxRunning: 20, maxWaiting: 0 })
    const logIn = ruleOf(service, { queue, passwords: { ...passwords, verify } })
    const begun = (count: number) => expect.poll(() => hashes.length).toBe(count)
    const hashed = async (count: number): Promise<void> => {
      await begun(count)
      for (const { resolve } of hashes) resolve()
    }
    return { service, customer, verify, logIn, begun, hashed }
  }
  const times = <Value>(count: number, make: () => Value): Value[] => Array.from({ length: count }, make)
  const REFUSED = { code: 'LOGIN_REFUSED' }

  it('with the same credentials cost one hash and one count, and each has a token of its own', async () => {
    const { service, customer, logIn, hashed, verify } = await setUp()
    const count = vi.spyOn(service.store.loginFailures, 'count')
    const logins = [...times(10, () => logIn(customer.email, PASSWORD)), logIn(customer.email, PASSWORD, '::1', 'DE')]
    const sharing = times(9, () => logIn(customer.email, PASSWORD, '127.0.0.1', 'DE'))
    // Another network.
    await hashed(2)
    const tokens = (await Promise.all([...logins, ...sharing])).map(({ token }) => decodeJwt(token))
    expect(new Set(tokens.map(({ jti }) => jti)).size).toBe(20)
    expect(tokens.map(({ region }) => region)).toEqual([...times(10, () => 'TR'), ...times(10, () => 'DE')])
    expect([verify.mock.calls.length, count.mock.calls.length]).toEqual([2, 2])
    count.mockRestore()
  })

  it.each(['a customer', 'nobody'])('with the same wrong password of %s are one guess', async (who) => {
    const { customer, logIn, hashed, verify } = await setUp()
    const email = who === 'nobody' ? 'nobody@example.com' : customer.email
    const logins = times(20, () => logIn(email, 'wrong'))
    await hashed(1)
    for (const login of logins) await expect(login).rejects.toMatchObject(REFUSED)
    expect(verify).toHaveBeenCalledTimes(1)
    // The other free ones.
    for (let n = 1; n < PAIR_LIMIT.free; n++) {
      const login = logIn(email, 'wrong')
      await hashed(n + 1)
      await expect(login).rejects.toMatchObject(REFUSED)
    }
    await expect(logIn(email, 'wrong')).rejects.toMatchObject({ code: 'LOGIN_THROTTLED' })
  })

  it('with other credentials, or from another network, share nothing', async () => {
    const { service, customer, logIn, hashed } = await setUp()
    const other = await addCustomer(service)
    const wrong = [
      logIn(customer.email, `${PASSWORD} `),
      logIn(customer.email, PASSWORD, '127.0.0.1', 'US'),
      logIn('nobody@example.com', PASSWORD),
    ]
    const right = [
      logIn(customer.email, PASSWORD),
      logIn(customer.email, PASSWORD, '127.0.0.2'),
      logIn(customer.email, PASSWORD, '2001:db8::1'),
      logIn(customer.email, PASSWORD, '2001:db8:0:1::1'),
      logIn(other.email, PASSWORD),
    ]
    // One client of the same /64.
    right.push(logIn(customer.email, PASSWORD, '2001:db8::2'))
    const outcomes = Promise.allSettled([...wrong, ...right])
    await Promise.all([hashed(8), outcomes])
    expect((await outcomes).map(({ status }) => status)).toEqual([
      ...times(3, () => 'rejected'),
      ...times(6, () => 'fulfilled'),
    ])
  })

  it('share nothing with those from before a new password', async () => {
    const { service, customer, logIn, begun, hashed } = await setUp()
    const before = logIn(customer.email, PASSWORD)
    await begun(1)
    await service.customers.setPassword(customer.id, 'another good password')
    const after = logIn(customer.email, PASSWORD)
    const outcomes = Promise.allSettled([before, after])
    await hashed(2)
    expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  })

  it('go on for a client that is still connected when the one it shares with has left', async () => {
    const { service, customer, verify } = await setUp()
    const queue = createHashQueue({ maxRunning: 1, maxWaiting: 1 })
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const before = queue.run(task('before'), () => promise)
    const logIn = ruleOf(service, { queue, passwords: { ...passwords, verify: passwords.verify } })
    const logins = [false, true].map((isAwaited) => logIn(customer.email, PASSWORD, '127.0.0.1', 'TR', () => isAwaited))
    await expect.poll(() => queue.waiting()).toBe(1)
    resolve(true)
    await before
    expect(await Promise.all(logins)).toMatchObject([{ customerId: customer.id }, { customerId: customer.id }])
    expect(verify).not.toHaveBeenCalled()
  })
})

describe('a password that was verified', () => {
  const setUp = async (seconds: number) => {
    const service = await testApp({}, { withThreads: true })
    const customer = await addCustomer(service)
    const verify = vi.fn(passwords.verify)
    const memory = createPasswordMemory(seconds, systemRandom, service.clock)
    const logIn = ruleOf(service, { memory, passwords: { ...passwords, verify } })
    return { service, customer, verify, logIn }
  }

  it('is recognised without a hash for as long as the setting says, and no other password is', async () => {
    const { service, customer, verify, logIn } = await setUp(300)
    for (let n = 0; n < 3; n++) await logIn(customer.email, PASSWORD)
    expect(verify).toHaveBeenCalledTimes(1)
    await expect(logIn(customer.email, `${PASSWORD} `)).rejects.toMatchObject({ code: 'LOGIN_REFUSED' })
    expect(verify).toHaveBeenCalledTimes(2)
    service.clock.time += 299_999
    await logIn(customer.email, PASSWORD)
    expect(verify).toHaveBeenCalledTimes(2)
    service.clock.time += 1
    await logIn(customer.email, PASSWORD)
    expect(verify).toHaveBeenCalledTimes(3)
  })

  it('is refused after it was changed, for a disabled customer and for another region', async () => {
    const { service, customer, logIn } = await setUp(300)
    await logIn(customer.email, PASSWORD)
    await expect(logIn(customer.email, PASSWORD, '127.0.0.1', 'DE')).rejects.toMatchObject({ code: 'LOGIN_REFUSED' })
    await service.customers.setPassword(customer.id, 'another good password')
    await expect(logIn(customer.email, PASSWORD)).rejects.toMatchObject({ code: 'LOGIN_REFUSED' })
    await logIn(customer.email, 'another good password')
    await service.customers.disable(customer.id)
    await expect(logIn(customer.email, 'another good password')).rejects.toMatchObject({ code: 'LOGIN_REFUSED' })
  })

  it('is hashed each time with TESLIM_LOGIN_MEMORY=0', async () => {
    const { customer, verify, logIn } = await setUp(0)
    for (let n = 0; n < 2; n++) await logIn(customer.email, PASSWORD)
    expect(verify).toHaveBeenCalledTimes(2)
  })

  it('causes no write to the store', async () => {
    const { service, customer, logIn } = await setUp(300)
    await logIn(customer.email, PASSWORD)
    const { count, settle } = service.store.loginFailures
    const spies = [vi.spyOn(service.store.loginFailures, 'count'), vi.spyOn(service.store.loginFailures, 'settle')]
    await logIn(customer.email, PASSWORD)
    for (const spy of spies) expect(spy).not.toHaveBeenCalled()
    vi.restoreAllMocks()
    expect([count, settle]).toEqual([service.store.loginFailures.count, service.store.loginFailures.settle])
  })
})

describe('refusals without a hash', () => {
  it('are answered at once, at a limited rate when there are many, and all of them on closing', async () => {
    vi.useFakeTimers()
    try {
      const clock = new TestClock()
      const delay = createRefusalDelay(clock)
      let answered = 0
      const refuse = (): void => void delay.wait().then(() => answered++)
      for (let n = 0; n < 300; n++) refuse()
      await vi.advanceTimersByTimeAsync(0)
      expect(answered).toBe(101)
      await vi.advanceTimersByTimeAsync(500)
      expect(answered).toBe(201)
      delay.close()
      await vi.advanceTimersByTimeAsync(0)
      expect(answered).toBe(300)
      refuse()
      await vi.advanceTimersByTimeAsync(0)
      expect(answered).toBe(301)
    } finally {
      vi.useRealTimers()
    }
  })

  it('wait ten seconds at most', async () => {
    vi.useFakeTimers()
    try {
      const delay = createRefusalDelay(new TestClock())
      let answered = 0
      for (let n = 0; n < 10_000; n++) void delay.wait().then(() => answered++)
      await vi.advanceTimersByTimeAsync(10_000)
      expect(answered).toBe(10_000)
    } finally {
      vi.useRealTimers()
    }
  })
})

it('32 logins wait at most: others get a 503 with Retry-After', async () => {
  const service = await testApp({}, { withThreads: true })
  const taken = Math.max(1, availableParallelism() - 1) + 2 + 32
  const { customers } = service.store
  const { findByEmail } = customers
  const asked = Promise.withResolvers<void>()
  let count = 0
  // They come to the queue together: a hash may take no longer than they take to come.
  Object.assign(customers, {
    findByEmail: async (email: string) => {
      if (++count === taken + 10) asked.resolve()
      await asked.promise
      return findByEmail(email)
    },
  })
  const answers = await Promise.all(
    Array.from({ length: taken + 10 }, (_, n) =>
      service.login({ Email: `${n}@x.y`, Password: 'x' }, { remoteAddress: `10.0.${n}.1` }),
    ),
  )
  const refused = answers.filter(({ statusCode }) => statusCode === 503)
  expect(answers.filter(({ statusCode }) => statusCode === 400)).toHaveLength(taken)
  expect(refused).toHaveLength(10)
  for (const answer of refused) {
    expect(answer.headers['retry-after']).toBe('1')
    expect(answer.json()).toMatchObject({ data: null, success: false, errorCode: 'LOGIN_OVERLOADED' })
  }
})
