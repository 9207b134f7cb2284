import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { createHistogram, createMetrics } from '#src/lib/metrics.ts'
import { createHashQueue } from '#src/login/hashing.ts'
import { buildOps, listenForOps } from '#src/ops/ops.ts'
import { scrape, seriesOf, testOps } from '../support/app/scrape.ts'
import { testApp } from '../support/app/test-app.ts'
import { hasPromtool, promtool } from '../support/docs/promtool.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const service = await testApp({}, { withThreads: true })
const ops = testOps(service)
const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8'
const TEXT = 'text/plain; version=0.0.4; charset=utf-8'

describe('the second listener', () => {
  it.each([
    [undefined, TEXT],
    ['*/*', TEXT],
    ['application/openmetrics-text', OPEN_METRICS],
    // Prometheus 3 and 2.
    [
      'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2',
      OPEN_METRICS,
    ],
    ['text/plain;version=0.0.4;q=0.5,application/openmetrics-text;q=0.2', TEXT],
    ['application/openmetrics-text;q=0', TEXT],
  ])('answers a scrape that accepts %s', async (accept, type) => {
    const { headers, payload } = await ops.inject({ url: '/metrics', headers: { ...(accept && { accept }) } })
    expect(headers['content-type']).toBe(type)
    expect(payload.endsWith('\n# EOF\n')).toBe(type === OPEN_METRICS)
    expect(seriesOf(payload).size).toBeGreaterThan(200)
  })

  it('gives the same series in both formats', async () => {
    const open = await ops.inject({ url: '/metrics', headers: { accept: OPEN_METRICS } })
    expect([...seriesOf(open.payload).keys()]).toEqual([...(await scrape(ops)).keys()])
  })

  it('answers health checks in plain text, and nothing else', async () => {
    for (const url of ['/livez', '/readyz', '/healthz'])
      expect(await ops.inject(url)).toMatchObject({ statusCode: 200, payload: 'ok\n' })
    const others = [
      { url: '/' },
      { url: '/metrics/' },
      { url: '/Metrics' },
      { url: '/docs' },
      { method: 'POST', url: '/metrics' },
      { method: 'HEAD', url: '/metrics' },
    ] as const
    for (const other of others) expect((await ops.inject(other)).statusCode, JSON.stringify(other)).toBe(404)
  })

  const taken = async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    return { other, opsHost: '127.0.0.1', port: 0, opsPort: (other.address() as { port: number }).port }
  }

  it('fails the start when its port is in use, and says which setting to change', async () => {
    const beside = await testApp()
    const { other, ...where } = await taken()
    await expect(listenForOps(testOps(beside), where, beside.app.log)).rejects.toMatchObject({
      code: 'CANNOT_LISTEN',
      message: `cannot listen on 127.0.0.1:${where.opsPort} for metrics: the port is in use; set TESLIM_OPS_PORT to another one`,
    })
    other.close()
  })

  it('leaves its default port to the API when that is to have it', async () => {
    const { config } = loadConfig({ PORT: '9464' })
    const beside = await testApp()
    expect(await listenForOps(testOps(beside), config, beside.app.log)).toBeUndefined()
    expect(beside.log.at(-1)).toMatchObject({ level: 40, msg: expect.stringContaining('TESLIM_OPS_PORT') })
  })

  it('ends idle connections before they keep a scrape away', () => {
    expect(ops.server.keepAliveTimeout).toBe(5000)
  })

  it('is only warned about when its port is the default and in use', async () => {
    const { opsHost, opsPort, port } = loadConfig({}).config
    expect([opsHost, opsPort]).toEqual(['127.0.0.1', 9464])
    // Where this port is taken already, the test is as good.
    const other = createServer().listen(opsPort, opsHost)
    await once(other, 'listening').catch(() => undefined)
    const beside = await testApp()
    expect(await listenForOps(testOps(beside), { opsHost, opsPort, port }, beside.app.log)).toBeUndefined()
    expect(beside.log.at(-1)).toMatchObject({ level: 40, msg: expect.stringContaining('TESLIM_OPS_PORT') })
    other.close()
  })
})

describe('a scrape', () => {
  it.runIf(hasPromtool)('passes promtool, in both formats', async () => {
    const { payload } = await ops.inject('/metrics')
    expect(promtool(['check', 'metrics'], payload)).toEqual({ status: 0, output: '' })
    expect(promtool(['check', 'metrics'], 'teslim_things{quantile="1.0"} 1\n').status).not.toBe(0)
    // promtool reads OpenMetrics only to import it, which needs a time for each sample.
    const open = await ops.inject({ url: '/metrics', headers: { accept: OPEN_METRICS } })
    const timed = open.payload.replaceAll(/^(?!#)(.+)$/gm, '$1 1700000000')
    const folder = tempFolder()
    const read = (text: string) => {
      writeFileSync(join(folder, 'open.txt'), text)
      return promtool(['tsdb', 'create-blocks-from', 'openmetrics', 'open.txt', 'blocks'], '', folder)
    }
    expect(read(timed)).toMatchObject({ status: 0 })
    expect(read(timed.replace('# EOF\n', '')).status).not.toBe(0)
  })

  it('escapes labels, adds up buckets, and leaves out what cannot be read', async () => {
    const metrics = createMetrics()
    metrics.counter('odd_total', 'Odd.')({ label: 'a"b\\c\nd' }).value += 2
    const sizes = createHistogram([1, 2.5])
    for (const value of [0, 1, 1.5, 2.5, 3]) sizes.observe(value)
    metrics.showHistogram('sizes', 'Sizes.', () => sizes)
    metrics.gauge('failing', 'Fails.', () => Promise.reject(new Error('away')))
    metrics.gauge('throwing', 'Throws.', () => {
      throw new Error('away')
    })
    metrics.gauge('absent', 'Absent.', () => undefined)
    metrics.gauge('there', 'There.', () => 0.5)
    expect(await metrics.text('openmetrics')).toBe(
      [
        '# HELP odd Odd.\n# TYPE odd counter\nodd_total{label="a\\"b\\\\c\\nd"} 2',
        '# HELP sizes Sizes.\n# TYPE sizes histogram\nsizes_bucket{le="1.0"} 2\nsizes_bucket{le="2.5"} 4',
        'sizes_bucket{le="+Inf"} 5\nsizes_sum 8\nsizes_count 5',
        '# HELP there There.\n# TYPE there gauge\nthere 0.5',
        '# EOF\n',
      ].join('\n'),
    )
    expect(() => metrics.gauge('there', 'Again.', () => 1)).toThrow('there is described twice')
  })

  it('says of a store that hangs that it is not ready', async () => {
    const { app, config, store, clock } = service
    const checkReady = () => new Promise<void>(() => undefined)
    const hanging = buildOps({ config, store, clock, metrics: createMetrics(), app, checkReady })
    expect(await hanging.inject('/healthz')).toMatchObject({ statusCode: 200, payload: 'ok\n' })
    const series = await scrape(hanging)
    expect([series.get('teslim_ready'), series.get('teslim_store_up')]).toEqual([0, 1])
    await hanging.close()
  })

  it('does not wait for a gauge that hangs', async () => {
    const metrics = createMetrics()
    metrics.gauge('hanging', 'Hangs.', () => new Promise(() => undefined))
    metrics.gauge('there', 'There.', () => 1)
    expect(await metrics.text('text')).toBe('# HELP there There.\n# TYPE there gauge\nthere 1\n')
  })
})

describe('the metrics of Node', () => {
  it('say what the heap of the thread takes, in all and by its spaces', async () => {
    const series = await scrape(ops)
    const [used = 0, total = 0] = ['used', 'total'].map((part) => series.get(`nodejs_heap_size_${part}_bytes`))
    expect(used).toBeGreaterThan(1_000_000)
    expect(used).toBeLessThanOrEqual(total)
    expect(total).toBeLessThan(series.get('process_resident_memory_bytes') ?? 0)
    const spaces = (part: string) =>
      [...series].filter(([name]) => name.startsWith(`nodejs_heap_space_size_${part}_bytes{`))
    const inSpaces = spaces('total').reduce((sum, [, bytes]) => sum + bytes, 0)
    expect(Math.abs(inSpaces - total)).toBeLessThan(total / 4)
    for (const part of ['total', 'used', 'available'])
      expect(spaces(part).map(([name]) => name)).toContain(`nodejs_heap_space_size_${part}_bytes{space="old"}`)
    const before = series.get('nodejs_external_memory_bytes') ?? 0
    const buffer = Buffer.alloc(50_000_000)
    expect((await scrape(ops)).get('nodejs_external_memory_bytes')).toBeGreaterThan(before + buffer.length / 2)
  })

  it('count garbage collections by their kind', async () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const count = async () => (await scrape(ops)).get('nodejs_gc_duration_seconds_count{kind="major"}')
    const before = (await count()) ?? Number.NaN
    collect()
    await until('a collection is counted', async () => ((await count()) ?? 0) > before)
    expect([...(await scrape(ops)).keys()]).toEqual(
      expect.arrayContaining(
        ['minor', 'major', 'incremental', 'weakcb'].map((kind) => `nodejs_gc_duration_seconds_sum{kind="${kind}"}`),
      ),
    )
  })

  it('say how many files may be open, and how late the event loop was by the names that dashboards know', async () => {
    const series = await scrape(ops)
    expect(series.get('process_max_fds')).toBe(Number(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' })))
    expect(series.get('process_max_fds')).toBeGreaterThan(series.get('process_open_fds') ?? 0)
    for (const [name, quantile] of Object.entries({ p50: '0.5', p99: '0.99', max: '1.0' }))
      expect(series.get(`nodejs_eventloop_lag_${name}_seconds`)).toBe(
        series.get(`nodejs_eventloop_delay_seconds{quantile="${quantile}"}`),
      )
  })
})

it('the hash queue tells how many logins wait', async () => {
  const queue = createHashQueue({ maxRunning: 1, maxWaiting: 3 })
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const tasks = ['a', 'b', 'c'].map((key) => ({ key, isPreferred: key === 'b', isAwaited: () => true }))
  const runs = tasks.map((task) => queue.run(task, () => promise))
  expect(queue.waiting()).toBe(2)
  resolve(true)
  await Promise.all(runs)
  expect(queue.waiting()).toBe(0)
})
