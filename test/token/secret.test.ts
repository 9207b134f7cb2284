import { describe, expect, it } from 'vitest'
import { createVersionWatch } from '#src/lib/version-watch.ts'
import { addCustomer, PASSWORD, type TestApp, testApp, testAppBeside } from '../support/app/test-app.ts'

const SECRET = 'a secret of enough characters'
const OTHER = 'another secret, just as long'

const issue = async (service: TestApp) => {
  const { email } = await addCustomer(service)
  return service.login({ Email: email, Password: PASSWORD })
}
const warnings = ({ log }: TestApp) => log.filter(({ level }) => level === 40).map(({ msg }) => msg)

describe('a service', () => {
  it('without a secret warns once and says what to do; one with a secret does not warn', async () => {
    const NODE_ENV = 'production'
    const [without, with_] = [await testApp({ NODE_ENV }), await testApp({ NODE_ENV, TESLIM_SECRET: SECRET })]
    await Promise.all([issue(without), issue(without), issue(with_)])
    expect(warnings(without)).toEqual([
      'signing keys are stored unencrypted: set TESLIM_SECRET (or TESLIM_SECRET_FILE), restart, then run teslim signing-key rewrap',
    ])
    expect(warnings(with_)).toEqual([])
    const [inTheClear] = await without.store.signingKeys.list()
    expect(JSON.parse(inTheClear?.privateJwk ?? '')).toHaveProperty('d')
    const [sealed] = await with_.store.signingKeys.list()
    expect(sealed?.privateJwk).toMatch(/^v1\./)
  })

  it('without a secret outside production says so without a warning', async () => {
    const service = await testApp()
    expect(warnings(service)).toEqual([])
    expect(service.log).toMatchObject([
      { level: 30, msg: 'signing keys are stored unencrypted: set TESLIM_SECRET before production' },
    ])
  })

  it('that gets a secret later goes on with the keys it has, and says what to do', async () => {
    const before = await testApp()
    const token = (await issue(before)).json().data.Token
    const after = await testAppBeside(before, { TESLIM_SECRET: SECRET })
    expect(await after.app.accessTokens.verify(token, '127.0.0.1')).toMatchObject({ scope: 'customer' })
    expect(warnings(after)).toEqual([
      'some signing keys are not encrypted under TESLIM_SECRET: run teslim signing-key rewrap',
    ])
  })

  it.each([{ TESLIM_SECRET: OTHER }, {}, { TESLIM_SECRET: OTHER, TESLIM_SECRET_OLD: `${OTHER}!` }])(
    'does not start with %j on keys of another secret, and changes nothing',
    async (settings) => {
      const right = await testApp({ TESLIM_SECRET: SECRET })
      const token = (await issue(right)).json().data.Token
      const keys = await right.store.signingKeys.list()
      await expect(testAppBeside(right, settings)).rejects.toMatchObject({ code: 'SIGNING_KEY_CANNOT_OPEN' })
      expect(await right.store.signingKeys.list()).toEqual(keys)
      expect(await right.app.accessTokens.verify(token, '127.0.0.1')).toMatchObject({ scope: 'customer' })
    },
  )

  it('with the former secret too opens the keys of both', async () => {
    const before = await testApp({ TESLIM_SECRET: OTHER })
    const token = (await issue(before)).json().data.Token
    const after = await testAppBeside(before, { TESLIM_SECRET: SECRET, TESLIM_SECRET_OLD: OTHER })
    expect(await after.app.accessTokens.verify(token, '127.0.0.1')).toMatchObject({ scope: 'customer' })
  })

  it('answers 503 without details when another one stores a key that it cannot open', async () => {
    const behind = await testApp({ TESLIM_SECRET: SECRET })
    const token = (await issue(behind)).json().data.Token
    const ahead = await testAppBeside(behind, { TESLIM_SECRET: OTHER, TESLIM_SECRET_OLD: SECRET })
    ahead.clock.time += 90 * 86_400_000
    const foreign = (await issue(ahead)).json().data.Token
    behind.clock.time += 1000
    const refused = await issue(behind)
    expect(refused.statusCode).toBe(503)
    expect(refused.json()).toEqual({
      data: null,
      success: false,
      message: 'The signing keys cannot be used.',
      errorCode: 'SIGNING_KEY_CANNOT_OPEN',
      requestId: expect.any(String),
    })
    expect(JSON.stringify(behind.log)).toContain('TESLIM_SECRET')
    expect(JSON.stringify(behind.log)).not.toMatch(/another secret|a secret of/)
    await expect(behind.app.accessTokens.verify(foreign, '127.0.0.1')).rejects.toMatchObject({
      code: 'SIGNING_KEY_CANNOT_OPEN',
    })
    expect(await behind.app.accessTokens.verify(token, '127.0.0.1')).toMatchObject({ scope: 'customer' })
  })
})

describe('the version', () => {
  it('is read at most twice a second, once for all callers, and its change is announced', async () => {
    const clock = { time: 0, now: () => 0, monotonic: () => clock.time }
    const [asked, told] = [[] as number[], [] as number[]]
    let current = 7
    const watch = createVersionWatch(async () => {
      asked.push(clock.time)
      return current
    }, clock)
    watch.onChange(() => told.push(watch.version()))
    expect(watch.isFresh()).toBe(false)
    await Promise.all([watch.makeFresh(), watch.makeFresh(), watch.makeFresh()])
    expect([asked, told, watch.isFresh()]).toEqual([[0], [7], true])
    clock.time = 499
    expect(watch.isFresh()).toBe(true)
    clock.time = 500
    expect(watch.isFresh()).toBe(false)
    await watch.makeFresh()
    expect(told).toEqual([7])
    current = 8
    clock.time = 1000
    await watch.makeFresh()
    expect([asked, told]).toEqual([
      [0, 500, 1000],
      [7, 8],
    ])
  })
})
