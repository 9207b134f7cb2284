import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { json } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { examineInThread } from '#src/console/health/doctor-thread.ts'
import { createExaminer, type Examination } from '#src/console/health/examiner.ts'
import { createMinutes } from '#src/console/health/minutes.ts'
import { createRecentLatency } from '#src/console/recent-latency.ts'
import type { Check } from '#src/doctor/checks.ts'
import { createHistogram, quantileOf } from '#src/lib/metrics.ts'
import { operating } from '../support/app/operating.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { addCustomer, PASSWORD, type TestApp, testApp } from '../support/app/test-app.ts'
import { runSql, storesOfRun } from '../support/store/stores.ts'
import { until } from '../support/until.ts'

const OK: Check = { name: 'node', status: 'ok', message: '26.13.0', code: 'NODE_SAFE', values: { version: '26.13.0' } }

describe('checks', () => {
  const setUp = () => {
    const clock = { time: 1_000_000, now: () => clock.time, monotonic: () => clock.time }
    const runs: (Examination & { finish(): void; die(error: Error): void; stopped: boolean })[] = []
    const late = Promise.withResolvers<void>()
    const examiner = createExaminer({
      begin() {
        const { promise: over, resolve, reject } = Promise.withResolvers<void>()
        const run = {
          over,
          found: () => [OK],
          underWay: () => 'integrity',
          stopped: false,
          stop: () => {
            run.stopped = true
          },
          finish: resolve,
          die: reject,
        }
        runs.push(run)
        return run
      },
      clock,
      wait: (_milliseconds, signal) =>
        Promise.race([late.promise, new Promise((resolve) => signal.addEventListener('abort', resolve))]),
    })
    return { examiner, clock, runs, late }
  }

  it('run once for all who ask meanwhile, and are kept for 30 seconds', async () => {
    const { examiner, clock, runs } = setUp()
    const asked = [examiner.report(), examiner.report()]
    clock.time += 1000
    runs[0]?.finish()
    const report = { checkedAt: 1_000_000, checks: [OK] }
    expect(await Promise.all(asked)).toMatchObject([report, report])
    clock.time += 29_999
    expect(await examiner.report()).toMatchObject(report)
    expect(runs).toHaveLength(1)
    clock.time += 1
    const again = examiner.report()
    runs[1]?.finish()
    expect(await again).toMatchObject({ checkedAt: 1_031_000 })
  })

  it('that take too long are ended, the answer names the one under way, and no other run begins before the end', async () => {
    const { examiner, clock, runs, late } = setUp()
    const asked = examiner.report()
    late.resolve()
    const late1 = {
      name: 'integrity',
      status: 'warning',
      message: expect.stringMatching(/^takes longer than 10 s/),
      code: 'CHECK_TOO_LONG',
      values: {},
    }
    expect((await asked).checks).toEqual([OK, late1])
    expect(runs[0]?.stopped).toBe(true)
    clock.time += 60_000
    expect((await examiner.report()).checks).toEqual([OK, late1])
    expect(runs).toHaveLength(1)
    runs[0]?.die(new Error('ended'))
    await new Promise(setImmediate)
    void examiner.report()
    expect(runs).toHaveLength(2)
  })

  it('that end early say which one could not be made', async () => {
    const { examiner, runs } = setUp()
    const asked = examiner.report()
    runs[0]?.die(new Error('out of memory'))
    expect((await asked).checks).toEqual([
      OK,
      {
        name: 'integrity',
        status: 'failed',
        message: 'neither this nor what follows could be looked at: out of memory',
        code: 'CHECK_BROKEN',
        values: { reason: 'out of memory' },
      },
    ])
  })

  it('run in a thread of their own, whose end is noticed', async () => {
    const loaded = loadConfig({})
    const die = () => new Worker('process.exit(3)', { eval: true })
    const examination = examineInThread(loaded, die)
    await expect(examination.over).rejects.toThrow('the thread of the checks was ended')
    const crash = () => new Worker('throw new Error("no")', { eval: true })
    await expect(examineInThread(loaded, crash).over).rejects.toThrow('no')
  })
})

describe('minutes', () => {
  it('are noted once they are over, an hour of them, as differences of what the process counts', () => {
    const clock = { time: 60_000 * 1000 + 20_000, now: () => clock.time, monotonic: () => clock.time }
    const durations = createHistogram([0.001, 0.01])
    const totals = { requests: 5, failed: 1 }
    let cpu = 100
    const minutes = createMinutes(
      {
        totals: () => ({ ...totals }),
        durations,
        cpuMilliseconds: () => cpu,
        eventLoopP99Ms: () => 2.5,
        rssBytes: () => 1e8,
      },
      clock,
    )
    clock.time += 39_999
    minutes.sample()
    expect(minutes.list()).toEqual([])
    totals.requests += 7
    totals.failed += 2
    cpu += 20_000
    for (let number = 0; number < 4; number++) durations.observe(0.0005)
    clock.time += 1
    minutes.sample()
    minutes.sample()
    expect(minutes.list()).toEqual([
      {
        at: 60_000 * 1000 + 20_000,
        requests: 7,
        failed: 2,
        p50Ms: 0.5,
        p99Ms: 0.99,
        eventLoopP99Ms: 2.5,
        rssBytes: 1e8,
        cpuPercent: 50,
      },
    ])
    for (let number = 0; number < 70; number++) {
      clock.time += 60_000
      minutes.sample()
    }
    expect(minutes.list()).toHaveLength(60)
    expect(minutes.list().at(-1)).toMatchObject({ requests: 0, p50Ms: null, p99Ms: null, cpuPercent: 0 })
  })
})

describe('latency', () => {
  it('is that of the last minute, as is how many failed', () => {
    const clock = { time: 0, monotonic: () => clock.time }
    const histogram = createHistogram([0.001, 0.002, 0.004])
    let failures = 5
    const latency = createRecentLatency(histogram, () => failures, clock)
    expect([latency.read(), latency.failed()]).toEqual([{ p50Ms: null, p99Ms: null }, 0])
    failures += 2
    for (let number = 0; number < 100; number++) histogram.observe(0.003)
    expect(latency.read()).toEqual({ p50Ms: 3, p99Ms: 3.98 })
    for (let number = 0; number < 6; number++) {
      clock.time += 10_000
      latency.sample()
    }
    expect([latency.read(), latency.failed()]).toEqual([{ p50Ms: 3, p99Ms: 3.98 }, 2])
    histogram.observe(0.0015)
    clock.time += 10_000
    latency.sample()
    expect([latency.read(), latency.failed()]).toEqual([{ p50Ms: 1.5, p99Ms: 1.99 }, 0])
  })

  it('is estimated as Prometheus does, and never above the last bound', () => {
    const counts = (...values: number[]) => new Float64Array(values)
    const bounds = [1, 2, 4]
    expect(quantileOf(bounds, counts(0, 0, 0, 0), 0.5)).toBeUndefined()
    expect(quantileOf(bounds, counts(10, 0, 0, 0), 0.5)).toBe(0.5)
    expect(quantileOf(bounds, counts(1, 0, 1, 0), 0.5)).toBe(1)
    expect(quantileOf(bounds, counts(1, 0, 1, 0), 0.75)).toBe(3)
    expect(quantileOf(bounds, counts(0, 0, 1, 9), 0.99)).toBe(4)
  })
})

const health = async (service: TestApp, more = {}) => {
  const { email } = await addCustomer(service, { scope: 'operator', ...more })
  const token = (await service.login({ Email: email, Password: PASSWORD })).json().data.Token
  return service.app.inject({ url: '/Operator/health', headers: { authorization: `Bearer ${token}` } })
}

describe.each(storesOfRun())('GET /Operator/health on %s', (kind, emptyStore) => {
  it('says what teslim doctor finds, and changes nothing', async () => {
    const service = await testApp(await emptyStore(), { withThreads: true })
    await addSupplier(service)
    const answer = await health(service, { scope: 'operator:read' })
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store, no-transform'])
    const { data } = answer.json()
    expect(data).toMatchObject({ Store: kind, NodeVersion: process.versions.node, Minutes: [] })
    const found = data.Checks.map(({ Name, Status }: { Name: string; Status: string }) => `${Status} ${Name}`)
    const inFile = ['ok integrity', 'ok server', 'ok database', 'skipped backup']
    expect(found).toEqual(
      expect.arrayContaining([
        ...['ok settings', 'ok network', 'ok store', 'ok signing keys', 'ok customers', 'ok API keys'],
        ...(kind === 'sqlite' ? inFile : ['ok database', 'ok connections', 'skipped growth']),
      ]),
    )
    expect(data.Checks.filter(({ Status }: { Status: string }) => Status === 'failed')).toEqual([])
    // No lock of this process was lost.
    expect((await health(service)).json().data.CheckedAt).toBe(data.CheckedAt)
    await service.store.ping()
  })
})

it('checks beside a server leave the locks of its store alone', async () => {
  const service = await testApp({}, { withThreads: true })
  const path = service.config.databaseUrl.replace('sqlite:', '')
  const locks = (): string[] => {
    const inode = String(existsSync('/proc/locks') ? readFileSync('/proc/locks', 'utf8') : '')
    return inode
      .split('\n')
      .filter((line) => line.includes(` ${process.pid} `))
      .map((line) => line.replace(/^\d+: /, ''))
      .sort()
  }
  expect(existsSync(path)).toBe(true)
  const { email } = await addCustomer(service, { scope: 'operator' })
  const token = (await service.login({ Email: email, Password: PASSWORD })).json().data.Token
  const before = locks()
  const answer = await service.app.inject({
    url: '/Operator/health',
    headers: { authorization: `Bearer ${token}` },
  })
  expect(answer.json().data.Checks).toContainEqual(expect.objectContaining({ Name: 'integrity', Status: 'ok' }))
  expect(locks()).toEqual(before)
})

it('a file that takes long to read is not checked for damage from the server, and the message says how', async () => {
  const service = await testApp({}, { withThreads: true })
  const beside = new DatabaseSync(service.config.databaseUrl.replace('sqlite:', ''))
  beside.exec('CREATE TABLE filler AS SELECT zeroblob(33 * 1024 * 1024); PRAGMA wal_checkpoint(TRUNCATE)')
  beside.close()
  const { Checks } = (await health(service)).json().data
  expect(Checks).toContainEqual({
    Name: 'integrity',
    Status: 'skipped',
    Message: expect.stringMatching(/^not checked, since the file has 33\.\d MiB: run teslim doctor$/),
    Code: 'FILE_NOT_CHECKED',
    Values: { size: expect.any(Number), command: 'teslim doctor' },
  })
})

it.each(storesOfRun('postgres'))(
  'checks that wait for a database end when the server stops, and their answer says so',
  async (_, emptyStore) => {
    const { DATABASE_URL: url } = await emptyStore()
    const service = await testApp({ DATABASE_URL: url }, { withThreads: true })
    const { token } = await operating(service)
    const address = await service.app.listen({ port: 0 })
    const headers = { authorization: `Bearer ${token}` }
    const other = new pg.Client(url)
    await other.connect()
    await other.query('BEGIN; LOCK TABLE api_key')
    const answer = once(get(`${address}/Operator/health`, { agent: false, headers }), 'response')
    await until('the checks wait', async () => {
      const waiting = `SELECT FROM pg_locks WHERE relation = 'api_key'::regclass AND NOT granted`
      return (await runSql(url, waiting)).length > 0
    })
    const closed = service.app.close()
    const [response] = (await answer) as [IncomingMessage]
    const { Checks } = ((await json(response)) as { data: { Checks: unknown[] } }).data
    expect(Checks.at(-1)).toEqual({
      Name: 'customers',
      Status: 'failed',
      Message: expect.stringContaining('the thread of the checks was ended'),
      Code: 'CHECK_BROKEN',
      Values: { reason: 'the thread of the checks was ended' },
    })
    await other.end()
    await closed
  },
)
