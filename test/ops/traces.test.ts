import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Fastify from 'fastify'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { noteOnTraces, readTraceSettings, wantsTraces } from '#src/config/trace-settings.ts'
import { startTraces } from '#src/ops/traces.ts'
import { fetch } from '../support/app/checked-fetch.ts'
import { exchange } from '../support/app/raw-http.ts'
import { TestClock } from '../support/app/test-app.ts'
import { type ReceivedSpan, startCollector } from '../support/app/trace-collector.ts'
import { CHECKOUT, type SandboxServer, serveSandbox } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

type Collector = Awaited<ReturnType<typeof startCollector>>

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

/** Prints which modules of OpenTelemetry are loaded when the process gets SIGUSR2. */
const LISTS_MODULES = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  import { isMainThread } from 'node:worker_threads'
  const loaded = []
  if (isMainThread) {
    registerHooks({ resolve: (name, context, next) => { const found = next(name, context); loaded.push(found.url); return found } })
    process.on('SIGUSR2', () => console.error('LOADED', loaded.length, loaded.filter((url) => /opentelemetry|ops\\/traces/.test(url)).join(' '), 'END'))
  }
`)}`

let collector: Collector
let traced: SandboxServer

const deliver = ({ server, apiKey }: SandboxServer, body: string, headers = {}) =>
  fetch(`${server.url}/Purchase/update`, { method: 'POST', headers: { ApiKey: apiKey, ...headers }, body })

const spansOf = (traceId: string): ReceivedSpan[] => collector.spans.filter((span) => span.traceId === traceId)

/** The log line of a request, once it is written. */
async function logLine({ server }: SandboxServer, requestId: string): Promise<Record<string, unknown>> {
  const [line] = await server.printed(new RegExp(`^\\{.*"requestId":"${requestId}".*"msg":"request"\\}$`, 'm'))
  return JSON.parse(line)
}

beforeAll(async () => {
  collector = await startCollector()
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '50',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
    OTEL_SERVICE_NAME: 'teslim-of-the-test',
  }
  traced = await serveSandbox({ cwd: tempFolder(), env, node: ['--import', LISTS_MODULES], program: CHECKOUT })
})

describe('with OTEL_EXPORTER_OTLP_ENDPOINT', () => {
  it('a delivery is a server span under the caller’s, with spans for queue and commit, and its log line names it', async () => {
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, 'x-request-id': 'traced-delivery' }
    expect((await deliver(traced, '{"OrderID":"PO-1","Status":1}', headers)).status).toBe(200)
    await expect.poll(() => spansOf(TRACE).length, { timeout: 5000 }).toBe(3)
    const spans = spansOf(TRACE)
    const server = spans.find(({ kind }) => kind === 2) as ReceivedSpan
    expect(server).toMatchObject({
      name: 'POST /Purchase/update',
      parentId: PARENT,
      failed: false,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/Purchase/update',
        'http.response.status_code': 200,
        'teslim.request_id': 'traced-delivery',
        'url.scheme': 'http',
        'server.address': '127.0.0.1',
        'server.port': Number(new URL(traced.server.url).port),
        'network.protocol.version': '1.1',
      },
      resource: { 'service.name': 'teslim-of-the-test', 'deployment.environment': 'test' },
    })
    const inner = spans.filter((span) => span !== server)
    expect(inner.map(({ name, parentId }) => [name, parentId])).toEqual([
      ['queue', server.spanId],
      ['commit', server.spanId],
    ])
    expect(await logLine(traced, 'traced-delivery')).toMatchObject({ trace_id: TRACE, span_id: server.spanId })
    expect(new Set(collector.requests)).toEqual(new Set(['POST /v1/traces application/x-protobuf']))
    expect(JSON.stringify(collector.spans)).not.toContain(traced.apiKey)
  })

  it('a span says how the caller addressed the server, but neither the path nor a method that nobody knows is its name', async () => {
    const traceId = '5'.repeat(32)
    const ask = (host: string, first = 'GET /Purchase/detail/secret?q=1 HTTP/1.1') =>
      exchange(
        traced.server.url,
        `${first}\r\nHost: ${host}\r\ntraceparent: 00-${traceId}-${PARENT}-01\r\nConnection: close\r\n\r\n`,
      )
    await ask('api.example.com')
    await ask('[::1]:8443')
    await ask('api.example.com', 'PROPFIND /Purchase/detail/secret HTTP/1.0')
    await expect.poll(() => spansOf(traceId).length, { timeout: 5000 }).toBe(3)
    const named = spansOf(traceId).map(({ name, attributes }) => [
      name,
      attributes['server.address'],
      attributes['server.port'],
      attributes['network.protocol.version'],
      attributes['http.request.method'],
      attributes['http.request.method_original'],
    ])
    expect(named).toEqual([
      ['GET /Purchase/detail/:orderId', 'api.example.com', 80, '1.1', 'GET', undefined],
      ['GET /Purchase/detail/:orderId', '::1', 8443, '1.1', 'GET', undefined],
      [expect.stringMatching(/^HTTP/), 'api.example.com', 80, '1.0', '_OTHER', 'PROPFIND'],
    ])
    expect(JSON.stringify(spansOf(traceId))).not.toContain('secret')
  })

  it('a login has a span for hashing, and a request without a valid traceparent begins a trace of its own', async () => {
    const { server, email, password } = traced
    const headers = {
      'Content-Type': 'application/json',
      'x-request-id': 'traced-login',
      traceparent: `00-${TRACE}-0-01`,
    }
    const body = JSON.stringify({ Email: email, Password: password })
    const answer = await fetch(`${server.url}/Login/Customer/Api/Verify`, { method: 'POST', headers, body })
    expect(answer.status).toBe(200)
    const { trace_id: traceId, span_id: spanId } = await logLine(traced, 'traced-login')
    expect(traceId).toMatch(/^(?!0af7651916cd43dd8448eb211c80319c)[0-9a-f]{32}$/)
    await expect.poll(() => spansOf(String(traceId)).length, { timeout: 5000 }).toBe(3)
    expect(spansOf(String(traceId)).map(({ name, parentId }) => [name, parentId])).toEqual([
      ['hash queue', spanId],
      ['hash', spanId],
      ['POST /Login/Customer/Api/Verify', ''],
    ])
    expect(JSON.stringify(collector.spans)).not.toContain(password)
  })

  it('a request that the caller does not sample is not recorded, but its log line has the ids of the trace', async () => {
    const traceId = '1'.repeat(32)
    const headers = { traceparent: `00-${traceId}-${PARENT}-00`, 'x-request-id': 'unsampled' }
    expect((await deliver(traced, '{"OrderID":"PO-2","Status":1}', headers)).status).toBe(200)
    expect(await logLine(traced, 'unsampled')).toMatchObject({ trace_id: traceId })
    await deliver(traced, '{"OrderID":"PO-3","Status":1}', { traceparent: `00-${'2'.repeat(32)}-${PARENT}-01` })
    await expect.poll(() => spansOf('2'.repeat(32)).length, { timeout: 5000 }).toBe(3)
    expect(spansOf(traceId)).toEqual([])
  })

  it('a refusal has its code, and one of 500 or more is a failed span', async () => {
    const traceId = '3'.repeat(32)
    const headers = { traceparent: `00-${traceId}-${PARENT}-01` }
    await fetch(`${traced.server.url}/Purchase/update`, { method: 'POST', headers, body: '{}' })
    await expect
      .poll(() => spansOf(traceId))
      .toMatchObject([
        { failed: false, attributes: { 'teslim.error_code': 'API_KEY_MISSING', 'http.response.status_code': 401 } },
      ])
  })

  it('a collector that refuses is one line in the log, costs no delivery, and is one line again when it is back', async () => {
    collector.state.status = 400
    for (let number = 0; number < 3; number++) {
      expect((await deliver(traced, `{"OrderID":"PO-4","Status":${number}}`)).status).toBe(200)
    }
    await traced.server.printed(/"msg":"traces are lost: the collector does not take them"/)
    collector.state.status = 200
    expect((await deliver(traced, '{"OrderID":"PO-4","Status":3}')).status).toBe(200)
    await traced.server.printed(/"lost":\d+,"msg":"traces arrive again"/)
    expect(traced.server.output().match(/traces are lost/g)).toHaveLength(1)
  })

  it('what is finished is sent at the end, and a collector that does not answer holds the end up for half a second, which the log says', async () => {
    const traceId = '4'.repeat(32)
    const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`, OTEL_BSP_SCHEDULE_DELAY: '60000' }
    const late = await serveSandbox({ cwd: tempFolder(), env })
    await deliver(late, '{"OrderID":"PO-1","Status":1}', { traceparent: `00-${traceId}-${PARENT}-01` })
    late.server.child.kill('SIGTERM')
    expect(await late.server.ended).toBe(0)
    expect(spansOf(traceId)).toHaveLength(3)
    // An empty variable is not set, like an empty setting: the file counts.
    const cwd = tempFolder()
    writeFileSync(join(cwd, '.env'), `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=${env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT}\n`)
    const mute = await serveSandbox({ cwd, env: { ...env, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: '' } })
    await deliver(mute, '{"OrderID":"PO-1","Status":1}')
    collector.state.answers = false
    const start = performance.now()
    mute.server.child.kill('SIGTERM')
    await mute.server.printed(/"level":40.*the last traces may be lost/)
    expect(await mute.server.ended).toBe(0)
    collector.state.answers = true
    // A kept connection of the client may hold it up for a second as well.
    expect(performance.now() - start).toBeLessThan(5000)
  })
})

describe('requests that callers choose by their traceparent', () => {
  /** Small trace ids, which every ratio accepts. */
  const chosen = (number: number): string => `00-${number.toString(16).padStart(32, '0')}-${PARENT}-01`

  const ofChosen = (): number => collector.spans.filter(({ traceId }) => traceId.startsWith('0'.repeat(20))).length

  /** Sends bursts of requests, each a second after the one before, and returns how many were recorded. */
  async function recorded(sampler: string, ratio: string, bursts = [300]): Promise<number> {
    const before = ofChosen()
    const clock = new TestClock()
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER: sampler,
      OTEL_TRACES_SAMPLER_ARG: ratio,
    }
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
    const app = Fastify()
    const traces = await startTraces(env, app.log, clock)
    app.decorateRequest('traceFields', '')
    app.decorateRequest('errorCode', null)
    traces?.install(app)
    let sent = 0
    app.get('/', async () => 'ok')
    for (const count of bursts) {
      clock.time += 1000
      for (let number = 0; number < count; number++)
        await app.inject({ url: '/', headers: { traceparent: chosen(++sent) } })
    }
    await app.close()
    await traces?.stop(5000)
    vi.unstubAllEnvs()
    return ofChosen() - before
  }

  it.each([
    ['parentbased_always_off', '', 100],
    ['parentbased_traceidratio', '0', 100],
    // Its own share is one request in ten.
    ['traceidratio', '0.1', 130],
    ['always_off', '', 0],
    ['parentbased_always_on', '', 300],
    ['parentbased_traceidratio', '1', 300],
  ])('are recorded 100 times a second and by its own share with %s %s: %i of 300', async (sampler, ratio, expected) => {
    const count = await recorded(sampler, ratio)
    expect(count).toBeGreaterThan(expected - 3)
    expect(count).toBeLessThanOrEqual(expected)
  })

  it('are recorded again in the next second', async () => {
    expect(await recorded('parentbased_always_off', '', [300, 50, 300])).toBe(250)
  })
})

describe('code of OpenTelemetry', () => {
  const loadedIn = async ({ server }: SandboxServer): Promise<string> => {
    server.child.kill('SIGUSR2')
    const [, modules = ''] = await server.printed(/LOADED \d+ (.*) END/)
    return modules
  }

  it('is loaded with the variable, and not a line of it without', async () => {
    expect(await loadedIn(traced)).toMatch(/@opentelemetry\/sdk-trace/)
    const env = { OTEL_TRACES_EXPORTER: 'console' }
    const plain = await serveSandbox({ cwd: tempFolder(), env, node: ['--import', LISTS_MODULES], program: CHECKOUT })
    expect(plain.server.output()).toContain('OTEL_TRACES_EXPORTER is set, but there are no traces')
    expect((await deliver(plain, '{"OrderID":"PO-1","Status":1}', { 'x-request-id': 'plain' })).status).toBe(200)
    expect(await logLine(plain, 'plain')).not.toHaveProperty('trace_id')
    expect(await loadedIn(plain)).toBe('')
  })

  it('that is not installed is one warning, and the service runs', async () => {
    const missing = `data:text/javascript,${encodeURIComponent(`
      import { registerHooks } from 'node:module'
      const fail = (name) => { throw Object.assign(new Error(name), { code: 'ERR_MODULE_NOT_FOUND' }) }
      registerHooks({ resolve: (name, context, next) => (name.startsWith('@opentelemetry') ? fail(name) : next(name, context)) })
    `)}`
    const cwd = tempFolder()
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, DATABASE_URL: `sqlite:${join(cwd, 'a.db')}` }
    const bare = await serveSandbox({ cwd, env, node: ['--import', missing], program: CHECKOUT })
    expect((await deliver(bare, '{"OrderID":"PO-1","Status":1}')).status).toBe(200)
    expect(bare.server.output().match(/there are no traces: the packages/g)).toHaveLength(1)
  })
})

describe('the OTEL_* variables', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
  const read = (variables = {}) => {
    const warnings: string[] = []
    return { ...readTraceSettings(variables, (message) => void warnings.push(message)), warnings }
  }

  it.each([
    [{}, false],
    [endpoint, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://a' }, true],
    [{ ...endpoint, OTEL_SDK_DISABLED: 'true' }, false],
    [{ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
  ])('%j: traces %s', (variables, wanted) => {
    expect(wantsTraces(variables)).toBe(wanted)
  })

  it.each([
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, 1],
    [{ ...endpoint, OTEL_TRACES_EXPORTER: 'otlp' }, 0],
    [{ OTEL_TRACES_EXPORTER: 'None' }, 0],
    [{ OTEL_TRACES_EXPORTER: '' }, 0],
    [{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_SDK_DISABLED: 'true' }, 0],
  ])('%j: %i notes that there are no traces', (variables, count) => {
    expect(noteOnTraces(variables)).toHaveLength(count)
  })

  it('choose the sampler and the queue', () => {
    expect(read()).toEqual({ sampler: 'parentbased_always_on', ratio: 1, takesParent: true, queue: {}, warnings: [] })
    const variables = {
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
      OTEL_BSP_MAX_QUEUE_SIZE: '100',
      OTEL_PROPAGATORS: 'none',
    }
    expect(read(variables)).toMatchObject({
      sampler: 'parentbased_traceidratio',
      ratio: 0.25,
      queue: { maxQueueSize: 100 },
      takesParent: false,
    })
  })

  it('that mean nothing here are warned about, and the default is used', () => {
    const { warnings, ...settings } = read({
      OTEL_TRACES_SAMPLER: 'xray',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_BSP_SCHEDULE_DELAY: '-1',
      OTEL_TRACES_EXPORTER: 'console',
      OTEL_PROPAGATORS: 'b3,baggage',
    })
    expect(settings).toMatchObject({ sampler: 'parentbased_always_on', queue: {}, takesParent: false })
    for (const known of [
      { OTEL_TRACES_EXPORTER: 'otlp', OTEL_PROPAGATORS: 'tracecontext,baggage' },
      { OTEL_PROPAGATORS: 'none' },
    ])
      expect(read(known).warnings).toEqual([])
    expect(warnings).toEqual([
      'OTEL_TRACES_SAMPLER: "xray" is not supported, parentbased_always_on is used',
      'OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not supported, http/protobuf is used',
      'OTEL_TRACES_EXPORTER: "console" is not supported, otlp is used',
      'OTEL_PROPAGATORS: "b3,baggage" is not supported, every request begins a trace of its own',
      'OTEL_BSP_SCHEDULE_DELAY: "-1" is not supported, the default is used',
    ])
    expect(read({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' })).toMatchObject({
      ratio: 1,
      warnings: ['OTEL_TRACES_SAMPLER_ARG: "2" is not supported, every request is sampled'],
    })
  })
})
