import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { Ajv } from 'ajv'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { pino } from 'pino'
import { expect, vi } from 'vitest'
import { buildApp } from '#src/app.ts'
import { type Config, loadConfig, type Variables } from '#src/config/load-config.ts'
import { type Customers, createCustomers } from '#src/customer/customer.rule.ts'
import type { OpenApi } from '#src/docs/contract/answers.ts'
import { createMetrics, type Metrics } from '#src/lib/metrics.ts'
import { systemRandom } from '#src/lib/random.ts'
import { withoutMark } from '#src/lib/text.ts'
import { passwords } from '#src/login/hashing.ts'
import { openStore, type StoreOptions } from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import { atTheEnd } from '../at-the-end.ts'
import { contractViolation, headerViolation } from '../docs/contract.ts'
import { tempFolder } from '../temp-folder.ts'
import { watchHooks } from './hook-refusals.ts'

export const PASSWORD = 'correct horse battery staple'
export const LOGIN = '/Login/Customer/Api/Verify'

/** A clock that stands still until it is moved. */
export class TestClock {
  time = Date.parse('2026-11-21T12:00:00.250Z')
  now(): number {
    return this.time
  }
  monotonic(): number {
    return this.time
  }
}

export interface TestApp {
  readonly app: FastifyInstance
  readonly store: Store
  readonly customers: Customers
  readonly clock: TestClock
  readonly config: Config
  readonly metrics: Metrics
  readonly withThreads: boolean
  /** What was logged, one object a line. */
  readonly log: Record<string, unknown>[]
  login(body: unknown, more?: InjectOptions): Promise<LightMyRequestResponse>
}

/** Starts a second service on the store of another one, as a second process would. */
export const testAppBeside = ({ config, withThreads }: TestApp, settings: Variables = {}): Promise<TestApp> =>
  testApp({ DATABASE_URL: config.databaseUrl, ...settings }, { withThreads })

/** Until the end of the test or the file, a service that is built takes so many bytes for the memory of its container. */
export function inContainerOf(bytes: number): void {
  const memory = vi.spyOn(process, 'constrainedMemory').mockReturnValue(bytes)
  atTheEnd(() => void memory.mockRestore())
}

interface AppOptions extends Pick<StoreOptions, 'queueDeliveries'> {
  /**
   * Whether an embedded store writes and reads in threads, as a server does: for races, loads and faults. They take longer to start than
   * most tests that build a service of their own.
   */
  readonly withThreads?: boolean
}

/** Builds the service as it is run, on a real store in its own folder. */
export async function testApp(
  settings: Variables = {},
  { withThreads = false, ...more }: AppOptions = {},
): Promise<TestApp> {
  const loaded = loadConfig({ DATABASE_URL: `sqlite:${join(tempFolder(), 'teslim.db')}`, ...settings })
  const { config } = loaded
  const clock = new TestClock()
  const log: Record<string, unknown>[] = []
  const metrics = createMetrics()
  const { store } = await openStore({ ...config, ...more }, clock.now(), { withoutThreads: !withThreads })
  const lines = new Writable({
    write(chunk, _encoding, done) {
      log.push(JSON.parse(String(chunk)))
      done()
    },
  })
  const app = await buildApp({
    loaded,
    store,
    clock,
    random: systemRandom,
    metrics,
    logger: pino({ level: 'trace', base: null }, lines),
    writeInfo: (line) => void lines.write(line),
    observer: contractObserver(config),
  })
  atTheEnd(async () => {
    const closed = app.close()
    // By a clock that stands still no kept connection is ever quiet for long enough.
    app.server.closeAllConnections()
    await closed
    await store.close()
  })
  const customers = createCustomers({ store, clock, random: systemRandom, hashPassword })
  const login: TestApp['login'] = (body, { headers, ...more } = {}) =>
    app.inject({
      method: 'POST',
      url: LOGIN,
      headers: { 'content-type': 'application/json', ...headers },
      payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      ...more,
    })
  return { app, store, customers, clock, config, metrics, withThreads, log, login }
}

/** Most customers of the tests have the same password, which need not be hashed again for each. */
let usualHash: Promise<string> | undefined

function hashPassword(password: string): Promise<string> {
  if (password !== PASSWORD) return passwords.hash(password)
  usualHash ??= passwords.hash(PASSWORD)
  return usualHash
}

const judge = new Ajv()

/** The schemas of the requests that the apps built so far take. */
export const requestSchemas = new Set<object>()

/** Every route of the apps built so far: `GET /livez`. */
export const registeredRoutes = new Set<string>()

/** Whatever a test asks for: every JSON answer must be one that the contract of this very server allows. */
function contractObserver(config: Config) {
  const violations: string[] = []
  let own: Promise<OpenApi> | undefined
  const { loginAnswer, loginEmailField, loginAuthorization, purchaseBearer, console, docs } = config
  const settings = [loginAnswer, loginEmailField, loginAuthorization, purchaseBearer, console, docs]
  // With these the contract has the answers of openapi.yaml, whose checks are compiled once.
  const isUsual = String(settings) === 'contract,Email,reject,optional,on,on'
  let undeclared = (): string[] => []
  atTheEnd(() =>
    expect(
      [...violations, ...undeclared()],
      'answers that are not in the contract; a route names in `errors` what it refuses',
    ).toEqual([]),
  )
  return fastifyPlugin(async (app: FastifyInstance) => {
    undeclared = watchHooks(app)
    // The service compiles its schemas without judging them first.
    app.addHook('onRoute', ({ method, url, schema: { body, headers, querystring, params } = {} }) => {
      for (const each of [method].flat()) registeredRoutes.add(`${each} ${url}`)
      for (const schema of [body, headers, querystring, params]) {
        if (!schema) continue
        requestSchemas.add(schema)
        if (!judge.validateSchema(schema)) violations.push(`${url}: ${judge.errorsText()}`)
      }
    })
    app.addHook('onSend', async ({ method, routeOptions: { url = '' } }, reply, payload) => {
      const isJson = String(reply.getHeader('content-type')).startsWith('application/json')
      // Answers are compressed after this.
      const hasText = typeof payload === 'string' || Buffer.isBuffer(payload)
      if (!hasText || !isJson) return
      const body = JSON.parse(withoutMark(Buffer.from(payload)).toString())
      if (!isUsual) own ??= app.contract()
      const violation = contractViolation(method, url, reply.statusCode, body, await own)
      if (violation !== undefined) violations.push(violation)
    })
    app.addHook('onResponse', async ({ method, routeOptions: { url = '' } }, reply) => {
      const violation = headerViolation(method, url, reply.statusCode, reply.getHeaders())
      if (violation !== undefined) violations.push(violation)
    })
  })
}

/** Adds a customer that may log in, under an address nobody else has. */
export async function addCustomer({ customers }: TestApp, more: Partial<Parameters<Customers['add']>[0]> = {}) {
  const email = `${randomUUID()}@example.com`
  const wanted = { email, password: PASSWORD, isApi: true, regions: ['TR'], authority: [], ...more }
  return (await customers.add(wanted)).customer
}
