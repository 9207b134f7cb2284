import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import { systemRandom } from '#src/lib/random.ts'
import { lockForBackup } from '#src/store/sqlite/backup-record.ts'
import { exchange } from '../support/app/raw-http.ts'
import { increase, scrape, testOps } from '../support/app/scrape.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { addCustomer, LOGIN, PASSWORD, testApp } from '../support/app/test-app.ts'
import { runSql, storesOfRun } from '../support/store/stores.ts'
import { until } from '../support/until.ts'

const DAY = 86_400_000

/** The names of DESIGN.md, section 5: the age of a backup has a test of its own, and so have metrics of endpoints (push.test.ts). */
const NAMES = [
  'teslim_build_info',
  'teslim_store_up',
  'teslim_ready',
  'teslim_http_requests_total',
  'teslim_http_request_duration_seconds',
  'teslim_http_connections',
  'teslim_deliveries_total',
  'teslim_refusals_total',
  'teslim_logins_total',
  'teslim_login_hash_queue',
  'teslim_delivery_batch_size',
  'teslim_commit_duration_seconds',
  'teslim_queue_deliveries',
  'teslim_queue_bytes',
  'teslim_feed_followers',
  'teslim_feed_lag_seconds',
  'teslim_webhook_delay_seconds',
  'teslim_api_keys_expiring',
  'teslim_store_bytes',
  'teslim_disk_free_bytes',
  'teslim_database_timeline',
  'nodejs_eventloop_delay_seconds',
  'nodejs_eventloop_lag_p50_seconds',
  'nodejs_eventloop_lag_p90_seconds',
  'nodejs_eventloop_lag_p99_seconds',
  'nodejs_eventloop_lag_max_seconds',
  'nodejs_heap_size_total_bytes',
  'nodejs_heap_size_used_bytes',
  'nodejs_heap_space_size_total_bytes',
  'nodejs_heap_space_size_used_bytes',
  'nodejs_heap_space_size_available_bytes',
  'nodejs_external_memory_bytes',
  'nodejs_gc_duration_seconds',
  'process_resident_memory_bytes',
  'process_cpu_seconds_total',
  'process_open_fds',
  'process_max_fds',
  'process_start_time_seconds',
]

const route = (method: string, path: string, status: number | string) =>
  `teslim_http_requests_total{method="${method}",route="${path}",status="${status}"}`
const duration = (path: string) => `teslim_http_request_duration_seconds_count{route="${path}"}`
const delivered = (status: number, duplicate: boolean) =>
  `teslim_deliveries_total{status="${status}",duplicate="${duplicate}"}`
const refused = (action: string, code: string, about: string) =>
  `teslim_refusals_total{action="${action}",code="${code}",class="${about}"}`
const outcome = (name: string) => `teslim_logins_total{outcome="${name}"}`

describe.each(storesOfRun())('the metrics of a service on %s', async (kind, emptyStore) => {
  const service = await testApp(await emptyStore(), { withThreads: true })
  const { app, store, clock, customers, login } = service
  const ops = testOps(service)
  const base = await app.listen({ port: 0, host: '127.0.0.1' })
  const { key } = await addSupplier(service, { authority: ['SKU-*'] })
  const deliver = (body: object, headers = {}) =>
    app.inject({
      method: 'POST',
      url: '/Purchase/update',
      headers: { ApiKey: key, ...headers },
      payload: JSON.stringify({ Products: [{ Sku: 'SKU-1' }], ...body }),
    })
  const operator = await addCustomer(service, { scope: 'operator' })
  const token = (await login({ Email: operator.email, Password: PASSWORD })).json().data.Token
  const authorization = `Bearer ${token}`
  // An answer is counted just after it was sent.
  await until('the login is counted', async () => (await scrape(ops)).get(outcome('ok')) === 1)

  /** Does something, and waits until exactly these series have moved by so much. */
  const moves = async (work: () => Promise<unknown>, expected: Record<string, number>) => {
    const before = await scrape(ops)
    await work()
    await expect.poll(async () => increase(before, await scrape(ops))).toEqual(expected)
  }

  const followers = async () => (await scrape(ops)).get('teslim_feed_followers')
  /** Asks over a connection of its own, which inject has not. */
  const get = (path: string, headers = {}) =>
    httpRequest(`${base}${path}`, { agent: false, headers: { authorization, ...headers } })
      .on('error', () => undefined)
      .end()
  /** The address at which a follower that has everything waits for more. */
  const pathToWait = async () => {
    const { data } = (await app.inject({ url: '/Purchase/feed?limit=1000', headers: { authorization } })).json()
    return `/Purchase/feed?wait=20&after=${data.NextCursor}`
  }

  const commit = { teslim_delivery_batch_size_count: 1, teslim_commit_duration_seconds_count: 1 }
  const posted = (status: number) => ({
    [route('POST', '/Purchase/update', status)]: 1,
    [duration('/Purchase/update')]: 1,
  })

  it('count a delivery by its Status, with its batch and commit', () =>
    moves(() => deliver({ OrderID: 'A', Status: 2 }), { ...posted(200), ...commit, [delivered(2, false)]: 1 }))

  it('count echoes and retries as duplicates', async () => {
    const retry = { 'idempotency-key': randomUUID() }
    await deliver({ OrderID: 'B', Status: 1 })
    await moves(() => deliver({ OrderID: 'B', Status: 1 }), { ...posted(200), ...commit, [delivered(1, true)]: 1 })
    await deliver({ OrderID: 'C', Status: 3 }, retry)
    await moves(() => deliver({ OrderID: 'C', Status: 3 }, retry), {
      ...posted(200),
      ...commit,
      [delivered(3, true)]: 1,
    })
  })

  it('have every refusal of the contract from the start, so that the first one is an increase', async () => {
    const codes = new Set(readFileSync('openapi.yaml', 'utf8').match(/(?<=errorCode: )[A-Z0-9_]+/g))
    expect(codes.size).toBeGreaterThan(40)
    const before = await scrape(ops)
    for (const action of ['login.refused', 'delivery.refused', 'other'])
      for (const code of codes) {
        const ofCode = `teslim_refusals_total{action="${action}",code="${code}",class="`
        expect([...before.keys()].filter((series) => series.startsWith(ofCode)).length, ofCode).toBe(1)
      }
  })

  it('count a refused delivery by its code, and no delivery', () =>
    moves(() => deliver({ Products: [{ Sku: 'other' }], Status: 1 }), {
      ...posted(403),
      [refused('delivery.refused', 'PRODUCT_NOT_AUTHORIZED', 'rights')]: 1,
    }))

  it('count logins by their outcome', async () => {
    const { email } = await addCustomer(service)
    const posted = (status: number) => ({ [route('POST', LOGIN, status)]: 1, [duration(LOGIN)]: 1 })
    await moves(() => login({ Email: email, Password: PASSWORD }), { ...posted(200), [outcome('ok')]: 1 })
    await moves(() => login({ Email: email, Password: 'wrong' }), {
      ...posted(400),
      [outcome('refused')]: 1,
      [refused('login.refused', 'LOGIN_REFUSED', 'credentials')]: 1,
    })
    await moves(() => login({ Email: 1 }), {
      ...posted(400),
      [outcome('invalid')]: 1,
      [refused('login.refused', 'INVALID_REQUEST', 'request')]: 1,
    })
    for (let tries = 0; tries < 5; tries++) await login({ Email: 'a@example.com', Password: 'wrong' })
    await moves(() => login({ Email: 'a@example.com', Password: 'wrong' }), {
      ...posted(429),
      [outcome('throttled')]: 1,
      [refused('login.refused', 'LOGIN_THROTTLED', 'limit')]: 1,
    })
  })

  it('show a follower while it waits, and the age of what it got', async () => {
    const url = await pathToWait()
    await expect.poll(followers).toBe(0)
    await moves(
      async () => {
        const page = app.inject({ url, headers: { authorization } })
        await expect.poll(followers).toBe(1)
        await deliver({ OrderID: 'D', Status: 0 })
        await page
      },
      {
        ...posted(200),
        ...commit,
        [delivered(0, false)]: 1,
        [route('GET', '/Purchase/feed', 200)]: 1,
        [duration('/Purchase/feed')]: 1,
        teslim_feed_lag_seconds_count: 1,
      },
    )
  })

  it('count an event stream when it ends, and do not take it for a slow answer', async () => {
    const lag = async () => (await scrape(ops)).get('teslim_feed_lag_seconds_count') ?? 0
    await deliver({ OrderID: 'E', Status: 1 })
    const lagBefore = await lag()
    await moves(
      async () => {
        const stream = get('/Purchase/feed', { accept: 'text/event-stream' })
        const [answer] = await once(stream, 'response')
        // What is there already is one page.
        await expect.poll(lag).toBe(lagBefore + 1)
        expect(await followers()).toBe(1)
        answer.destroy()
      },
      { [route('GET', '/Purchase/feed', 200)]: 1, teslim_feed_lag_seconds_count: 1 },
    )
  })

  it('count a client that leaves before its answer as aborted, not as a success', async () => {
    const path = await pathToWait()
    await moves(
      async () => {
        const answer = get(path)
        await expect.poll(followers).toBe(1)
        answer.destroy()
      },
      { [route('GET', '/Purchase/feed', 'aborted')]: 1, [duration('/Purchase/feed')]: 1 },
    )
  })

  it('show open connections', async () => {
    const open = async () => (await scrape(ops)).get('teslim_http_connections')
    await expect.poll(open).toBe(0)
    const socket = connect(Number(new URL(base).port), '127.0.0.1')
    // Else a server that is closed would wait for it.
    onTestFinished(() => void socket.destroy())
    await expect.poll(open).toBe(1)
    socket.destroy()
    await expect.poll(open).toBe(0)
  })

  it('show how many keys expire within two weeks, without those that are revoked or replaced', async () => {
    const { id } = await addCustomer(service)
    const apiKeys = createApiKeys({ store, customers, clock, random: systemRandom })
    const expiring = async () => (await scrape(ops)).get('teslim_api_keys_expiring{within="14d"}')
    expect(await expiring()).toBe(0)
    const soon = await apiKeys.issue(id, 'soon', 13 * DAY)
    const revoked = await apiKeys.issue(id, 'revoked', 13 * DAY)
    await apiKeys.issue(id, 'later', 15 * DAY)
    await apiKeys.issue(id, 'never')
    expect(await expiring()).toBe(2)
    await apiKeys.revoke(revoked.view.id)
    expect(await expiring()).toBe(1)
    // The successor lives as long as the key that it replaces.
    await apiKeys.rotate(soon.view.id, { overlapMilliseconds: DAY })
    expect(await expiring()).toBe(1)
  })

  it('have every name of the design, and say what the store takes of its disk', async () => {
    const { payload } = await ops.inject('/metrics')
    const described = Array.from(payload.matchAll(/^# TYPE (\S+) /gm), ([, name]) => name)
    const expected = NAMES.filter(
      (name) => name !== (kind === 'sqlite' ? 'teslim_database_timeline' : 'teslim_disk_free_bytes'),
    )
    expect(expected.filter((name) => !described.includes(name))).toEqual([])
    const series = await scrape(ops)
    expect(series.get('teslim_store_bytes{part="file"}')).toBeGreaterThan(0)
    expect(series.has('teslim_store_bytes{part="wal"}')).toBe(kind === 'sqlite')
    expect(series.has('teslim_disk_free_bytes')).toBe(kind === 'sqlite')
    expect(series.get('teslim_database_timeline')).toBe(kind === 'sqlite' ? undefined : 1)
    expect(payload).toContain(`node="${process.version}",store="${kind}"} 1`)
    expect([series.get('teslim_store_up'), series.get('teslim_ready')]).toEqual([1, 1])
    expect(series.get('teslim_queue_deliveries_limit')).toBe(10_000)
    expect(series.get('teslim_queue_bytes_limit')).toBe(store.deliveries.load.maxBytes)
  })

  it('have the age of a backup once there is one; PostgreSQL has its own tools', async () => {
    const age = async () => (await scrape(ops)).get('teslim_backup_age_seconds')
    expect(await age()).toBeUndefined()
    if (kind === 'postgres') {
      expect((await ops.inject('/metrics')).payload).not.toContain('teslim_backup_age_seconds')
      return
    }
    const path = realpathSync(service.config.databaseUrl.slice('sqlite:'.length))
    lockForBackup(path).finish({ path: `${path}.backup`, at: clock.now(), scheduled: false }, [])
    clock.time += 90_000
    expect(await age()).toBe(90)
    // While another process writes, and when the record is damaged, the last known one counts, and nothing waits for it here.
    const writer = new DatabaseSync(`${path}-backup`)
    writer.exec('BEGIN EXCLUSIVE')
    const asked = performance.now()
    const aging = store.lastBackupAt()
    expect(performance.now() - asked).toBeLessThan(100)
    await expect(aging).rejects.toThrow('locked')
    clock.time += 10_000
    expect(await age()).toBe(100)
    writer.close()
    writeFileSync(`${path}-backup`, 'no database at all'.repeat(100))
    expect(await age()).toBe(100)
  })

  it('get no series from hostile addresses and methods', async () => {
    const hostile = async (number: number) => {
      for (const url of [`/x${number}`, `/Purchase/${number}`, `/%zz${number}`, `/docs/${number}`, `//${number}`])
        await app.inject({ url })
      const order = `/Purchase/detail/${number}`
      for (const method of ['PROPFIND', 'MKCOL', 'TRACE', 'LOCK', 'REPORT'])
        await exchange(base, `${method} ${order} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
      await exchange(base, `M${number} / HTTP/1.1\r\nHost: a\r\n\r\n`)
      await exchange(base, `CONNECT a:${number} HTTP/1.1\r\nHost: a\r\n\r\n`)
    }
    await hostile(1)
    // It is there after the first look at the suppliers.
    await expect.poll(async () => (await scrape(ops)).has('teslim_suppliers_silent'), { timeout: 15_000 }).toBe(true)
    const before = await scrape(ops)
    for (let number = 2; number < 12; number++) await hostile(number)
    const after = await scrape(ops)
    expect([...after.keys()].filter((name) => !before.has(name))).toEqual([])
    const unknown = [...after].filter(([name]) => name.includes('route="unknown",status'))
    expect(Object.fromEntries(unknown)).toMatchObject({
      [route('GET', 'unknown', 404)]: expect.any(Number),
      [route('GET', 'unknown', 400)]: expect.any(Number),
      [route('other', 'unknown', 400)]: 11,
      [route('other', 'unknown', 405)]: expect.any(Number),
    })
  })

  it('say that the store is away, and leave out what only it knows', async () => {
    // The last test of the file's store: nothing brings it back.
    const away = await testApp(await emptyStore(), { withThreads: true })
    const awayOps = testOps(away)
    const { databaseUrl } = away.config
    if (kind === 'postgres') {
      const name = new URL(databaseUrl).pathname.slice(1)
      await runSql(inject('postgresUrl'), `DROP DATABASE "${name}" WITH (FORCE)`)
    } else renameSync(databaseUrl.slice('sqlite:'.length), `${databaseUrl.slice('sqlite:'.length)}.away`)
    const state = async () => {
      const series = await scrape(awayOps)
      return ['teslim_ready', 'teslim_store_up', 'teslim_store_bytes{part="file"}'].map((name) => series.get(name))
    }
    // SQLite still reads from the file that it has open.
    await expect.poll(state, { timeout: 15_000 }).toEqual(kind === 'postgres' ? [0, 0, undefined] : [0, 1, undefined])
    const ready = await awayOps.inject('/readyz')
    expect([ready.statusCode, ready.payload]).toEqual([503, expect.stringMatching(/^The .*\n$/)])
    expect((await awayOps.inject('/livez')).statusCode).toBe(200)
  })
})
