import { describe, expect, it, vi } from 'vitest'
import { systemRandom } from '#src/lib/random.ts'
import { createHashGate } from '#src/login/hash-gate.ts'
import { createHashWorkers } from '#src/login/hash-workers.ts'
import { passwords } from '#src/login/password-hashing.ts'
import { createPasswordMemory } from '#src/login/password-memory.ts'
import { createRefusalPace } from '#src/login/refusal-pace.ts'
import { createThrottle } from '#src/login/throttle.ts'
import { ruleOf } from '../support/log-in.ts'
import { addCustomer, PASSWORD, TestClock, testApp } from '../support/test-app.ts'

const task = (group: string, more = {}) => ({ group, groupLimit: 1, preferred: false, isAwaited: () => true, ...more })

describe('the gate', () => {
  it('admits a few at a time, preferred ones first, one per group, and refuses the rest', async () => {
    const gate = createHashGate({ mostRunning: 2, mostWaiting: 2 })
    const running: string[] = []
    const finish = new Map<string, () => void>()
    const run = (name: string, group: string, more = {}) =>
      gate.run(task(group, more), async () => {
        running.push(name)
        await new Promise<void>((resolve) => finish.set(name, resolve))
      })
    const settled = () => new Promise((resolve) => setImmediate(resolve))
    const runs = [run('a', '1'), run('a again', '1'), run('b', '2'), run('c', '3')]
    await settled()
    expect(running).toEqual(['a', 'b'])
    await expect(run('d', '4')).rejects.toMatchObject({ code: 'LOGIN_OVERLOADED', kind: 'overloaded' })
    runs.push(run('known', '5', { preferred: true }))
    finish.get('b')?.()
    await settled()
    expect(running).toEqual(['a', 'b', 'known'])
    finish.get('known')?.()
    await settled()
    expect(running).toEqual(['a', 'b', 'known', 'c'])
    for (const name of ['a', 'c']) finish.get(name)?.()
    await settled()
    finish.get('a again')?.()
    await Promise.all(runs)
  })

  it('is free again after work that fails, and does no work for a client that has disconnected', async () => {
    const gate = createHashGate({ mostRunning: 1, mostWaiting: 1 })
    await expect(gate.run(task('1'), () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    const work = vi.fn(async () => 'done')
    await expect(gate.run(task('1', { isAwaited: () => false }), work)).rejects.toMatchObject({
      code: 'CLIENT_GONE',
    })
    expect(work).not.toHaveBeenCalled()
    expect(await gate.run(task('1'), work)).toBe('done')
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
    const service = await testApp()
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

describe('a password that was verified', () => {
  const setUp = async (seconds: number) => {
    const service = await testApp()
    const customer = await addCustomer(service)
    const verify = vi.fn(passwords.verify)
    const memory = createPasswordMemory({ seconds, random: systemRandom, clock: service.clock })
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
      const pace = createRefusalPace(clock)
      let answered = 0
      const refuse = (): void => void pace.turn().then(() => answered++)
      for (let n = 0; n < 300; n++) refuse()
      await vi.advanceTimersByTimeAsync(0)
      expect(answered).toBe(101)
      await vi.advanceTimersByTimeAsync(500)
      expect(answered).toBe(201)
      pace.close()
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
      const pace = createRefusalPace(new TestClock())
      let answered = 0
      for (let n = 0; n < 10_000; n++) void pace.turn().then(() => answered++)
      await vi.advanceTimersByTimeAsync(10_000)
      expect(answered).toBe(10_000)
    } finally {
      vi.useRealTimers()
    }
  })
})

it('32 logins wait at most: others get a 503 with Retry-After', async () => {
  const service = await testApp()
  const taken = service.app.hashing.concurrency + 2 + 32
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
