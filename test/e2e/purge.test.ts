import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { describe, expect, inject, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { deliver, keyOfSupplier, makeSupplier, missingFrom } from '../support/processes/ledger.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { serve, serveSandbox, startProcess } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const env = { NODE_ENV: 'production' }
const DAY = 86_400_000
const REMOVE_REFUSED = fileURLToPath(new URL('../support/store/remove-refused.ts', import.meta.url))

/** The numbers from 1 on, for an INSERT. */
const numbers = (count: number): string =>
  `WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${count})`

/** A paused endpoint, for which the first deliveries wait. */
const addEndpoint = (waiting: number): string => `
  INSERT INTO webhook (id, url, duplicates, created_at, secret, version, paused_reason, paused_at)
  VALUES ('w', 'https://example.org', true, 1, 's', 1, 'operator', ${Date.now()});
  INSERT INTO webhook_progress (webhook, position, waiting, failing, set_aside, removed, journal_bytes)
  VALUES ('w', ${waiting}, ${waiting}, 0, 0, 0, 0);
  INSERT INTO webhook_waiting (webhook, position, lane, failures, answered, replayed)
  ${numbers(waiting)} SELECT 'w', n, n, 0, false, false FROM r`

const UNSENT = `
  SELECT (SELECT count(*) FROM delivery d WHERE d.position <= p.position) AS there, waiting, removed,
         (SELECT count(*) FROM webhook_waiting) AS kept,
         (SELECT count(*) FROM webhook_waiting w JOIN delivery d ON d.position = w.position) AS whole
    FROM webhook_progress p`

/** Returns how many of the first deliveries are left. Counters and rows of the endpoint must agree with that. */
function leftOf(count: number, row: Readonly<Record<string, unknown>> | undefined): number {
  const left = Number(row?.there)
  expect([row?.waiting, row?.removed, row?.kept, row?.whole].map(Number)).toEqual([left, count - left, left, left])
  return left
}

it('a purge beside a server, killed in the middle, has lost nothing else, and counts what was unsent; the next one finishes it', async () => {
  const cwd = tempFolder()
  const key = await keyOfSupplier({ cwd, env })
  const path = join(cwd, 'data/teslim.db')
  const OLD = 40_000
  const filling = new DatabaseSync(path)
  const received = Date.now() - 500 * DAY
  filling.exec(`
    CREATE TEMP TABLE numbers AS ${numbers(OLD)} SELECT n - 1 AS n FROM r;
    INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, previous, payload)
    SELECT n + 1, unhex(printf('%012x70008000%012x', ${received} + n, n)), 1, 'old-' || (n / 4), n % 4, ${received} + n,
           CASE WHEN n % 4 > 0 THEN n END, zeroblob(300) FROM numbers;
    INSERT INTO order_state (customer, order_id, status, state_position, latest_position, digest)
    SELECT 1, 'old-' || (n / 4), 3, n + 1, n + 1, x'00' FROM numbers WHERE n % 4 = 3;
    ${addEndpoint(OLD)}`)
  filling.close()

  const { url, child, ended } = await serve({ cwd, env })
  const load = deliver({ url, key, clients: 2 })
  const file = new DatabaseSync(path, { readOnly: true })
  const left = (): number =>
    Number(file.prepare('SELECT count(*) AS n FROM delivery WHERE received_at < ?').get(Date.now() - DAY)?.n)
  const purge = ['purge', '--older', '400d', '--unsent']
  const purging = startProcess(purge, { cwd, env })
  const early = file.prepare('SELECT 1 FROM delivery WHERE position = 1001')
  await until('some are removed', () => early.get() === undefined)
  purging.kill('SIGKILL')
  await load.more(20)
  const afterKill = left()
  expect(afterKill).toBeGreaterThan(OLD / 4)
  const leftUnsent = () => leftOf(OLD, file.prepare(UNSENT).get())
  expect(leftUnsent()).toBe(afterKill)
  const { status, stdout, stderr } = await runPrepared([...purge, '--json'], { cwd, env })
  expect([status, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toMatchObject({ deliveries: afterKill - OLD / 4, orders: 0 })
  await load.more(20)
  await load.stop()
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
  expect(leftUnsent()).toBe(OLD / 4)
  const kept = file.prepare(`SELECT order_id, status FROM delivery WHERE received_at < ?`).all(Date.now() - DAY)
  file.close()
  expect(kept.map(({ order_id, status }) => [order_id, status])).toEqual(
    Array.from({ length: OLD / 4 }, (_, n) => [`old-${n}`, 3]),
  )
  expect(missingFrom(path, load.acknowledged)).toEqual([])
  expect(load.others).toEqual(new Map())
}, 60_000)

it('after an erasure beside a server neither the file nor its log holds a payload, an order id, a request id, a key or the address', async () => {
  const cwd = tempFolder()
  const { id, key } = await makeSupplier({ cwd, env })
  const path = join(cwd, 'data/teslim.db')
  const keeping = { ...env, TESLIM_KEEP_REFUSED: 'known' }
  const { url, child, ended } = await serve({ cwd, env: keeping })
  const other = JSON.parse(
    (
      await runPrepared(['customer', 'add', '--email', 'other@b.co', '--generate', '--allow', '*', '--json'], {
        cwd,
        env,
      })
    ).stdout,
  )
  const issued = JSON.parse(
    (await runPrepared(['key', 'issue', '--customer', other.id, '--json'], { cwd, env })).stdout,
  )
  const send = async (apiKey: string, body: object, headers = {}): Promise<{ ReceiptID: string }> => {
    const options = { method: 'POST', headers: { ApiKey: apiKey, ...headers }, body: JSON.stringify(body) }
    const answer = await fetch(`${url}/Purchase/update`, options)
    expect(answer.status).toBe(200)
    return ((await answer.json()) as { data: { ReceiptID: string } }).data
  }
  const refuse = async (apiKey: string, body: object, headers = {}): Promise<void> => {
    const options = {
      method: 'POST',
      headers: { ApiKey: apiKey, ...headers },
      body: JSON.stringify({ ...body, Status: 9 }),
    }
    expect((await fetch(`${url}/Purchase/update`, options)).status).toBe(400)
  }
  const receipts: string[] = []
  for (let n = 0; n < 60; n++) {
    // Some payloads need pages of their own.
    const text = 'MARKER of a payload '.repeat(n % 10 === 0 ? 2000 : 1 + (n % 7))
    const body = { OrderID: `MARKER-ORDER-${n % 30}`, Status: n % 4, n, text }
    const headers = { 'Idempotency-Key': `MARKER-KEY-${n}`, 'X-Request-Id': `MARKER-REQUEST-${n}` }
    receipts.push((await send(key, body, headers)).ReceiptID)
    await send(issued.key, { OrderID: `other-${n}`, Status: 1, text: 'OTHERS stay' })
    const refused = { OrderID: `MARKER-REFUSED-${n}`, text: 'MARKER refused '.repeat(n % 3 === 0 ? 3000 : 1 + n) }
    await refuse(key, refused, { 'X-Request-Id': `chosen-${n}` })
    await refuse(issued.key, { OrderID: `other-${n}`, text: 'OTHERS refused '.repeat(n % 4 === 0 ? 3000 : 1 + n) })
  }
  const holds = (text: string): string[] =>
    [path, `${path}-wal`].filter((name) => existsSync(name) && readFileSync(name).includes(text))
  const refused = async () =>
    JSON.parse((await runPrepared(['delivery', 'refused', 'list', '--json'], { cwd, env })).stdout) as {
      Refusals: { CustomerID: string; PayloadBytes?: number }[]
      Bodies: number
      Removed: number
    }
  await until('all refused bodies were written', async () => {
    return (await refused()).Bodies === 120
  })
  // Where the oldest went for want of room, pages are half empty, too.
  execFileSync(process.execPath, [REMOVE_REFUSED, `sqlite:${path}`, '1048576'])
  expect((await refused()).Removed).toBeGreaterThan(0)
  expect(holds('MARKER')).not.toEqual([])
  expect(holds('chosen-')).not.toEqual([])
  // Leaves pages half empty, where copies could stay behind.
  expect((await runPrepared(['purge', '--older', '0'], { cwd, env })).status).toBe(0)
  const { status, stdout, stderr } = await runPrepared(['customer', 'remove', 'a@b.co', '--erase', '--json'], {
    cwd,
    env,
  })
  expect([status, stderr]).toEqual([0, ''])
  const { erased } = JSON.parse(stdout)
  expect(erased).toBe(30)
  const { Refusals } = await refused()
  expect(new Set(Refusals.flatMap(({ CustomerID, PayloadBytes }) => (PayloadBytes ? [CustomerID] : [])))).toEqual(
    new Set([other.id]),
  )
  const log = async () => (await runPrepared(['audit', 'list', '--limit', '1000', '--json'], { cwd, env })).stdout
  expect(await log()).toContain('delivery.refused')
  expect(await log()).not.toContain('chosen-')
  // The server may have looked a moment before.
  const isUnknown = async () =>
    (await fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body: '{}' })).status === 401
  await until('the key is unknown to the server', isUnknown, { milliseconds: 1000 })
  for (const text of ['MARKER', 'a@b.co']) expect([text, holds(text)]).toEqual([text, []])
  await send(issued.key, { OrderID: 'other-after', Status: 1 })
  for (const text of ['MARKER', 'a@b.co']) expect([text, holds(text)]).toEqual([text, []])
  for (const text of ['OTHERS stay', 'OTHERS refused']) expect([text, holds(text)]).not.toEqual([text, []])
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
  for (const text of ['MARKER', 'a@b.co']) expect([text, holds(text)]).toEqual([text, []])
  const file = new DatabaseSync(path, { readOnly: true })
  expect(file.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  file.close()
  expect(id).toBeDefined()
}, 60_000)

describe.each(['sqlite', 'postgres'])('followers of a server on %s', (kind) => {
  it.each([
    ['SIGINT', []],
    ['SIGKILL', ['--orders', '--unsent']],
  ] as const)(
    'after a purge beside it was stopped by %s, only those are refused who missed what it removed',
    async (signal, more) => {
      const cwd = tempFolder()
      const url = kind === 'postgres' ? await newDatabase(inject('postgresUrl')) : undefined
      const place = { cwd, env: url === undefined ? {} : { DATABASE_URL: url } }
      const { server, email, password, apiKey } = await serveSandbox(place)
      const OLD = 20_000
      const received = Date.now() - DAY
      const isWhole = more.length > 0
      const query = async (sql: string) => {
        if (url !== undefined) return runSql(url, sql)
        const file = new DatabaseSync(join(cwd, 'data/teslim.db'))
        const rows = file.prepare(sql).all()
        file.close()
        return rows
      }
      const [receipt, bytes, last] =
        url === undefined
          ? [`unhex(printf('%012x70008000%012x', ${received} + n, n))`, `x'7b7d'`, 'SELECT 1']
          : [
              `(lpad(to_hex(${received} + n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid`,
              `'\\x7b7d'::bytea`,
              `SELECT setval('last_position', ${OLD})`,
            ]
      const fill = `
        INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, payload)
        ${numbers(OLD)} SELECT n, ${receipt}, 1, 'old-' || n, 1, ${received} + n, ${bytes} FROM r;
        INSERT INTO order_state (customer, order_id, status, state_position, latest_position, digest)
        ${numbers(OLD)} SELECT 1, 'old-' || n, 1, n, n, ${bytes} FROM r WHERE n % 4 = 0;
        ${isWhole ? `${addEndpoint(OLD)};` : ''} ${last}`
      for (const sql of fill.split(';')) await query(sql)
      const send = async (OrderID: string): Promise<string> => {
        const body = JSON.stringify({ OrderID, Status: 1 })
        const answer = await fetch(`${server.url}/Purchase/update`, {
          method: 'POST',
          headers: { ApiKey: apiKey },
          body,
        })
        expect(answer.status).toBe(200)
        return ((await answer.json()) as { data: { ReceiptID: string } }).data.ReceiptID
      }
      await send('last')
      const login = await fetch(`${server.url}/Login/Customer/Api/Verify`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ Email: email, Password: password }),
      })
      const { Token: token } = ((await login.json()) as { data: { Token: string } }).data
      const read = async (after: string) => {
        const headers = { authorization: `Bearer ${token}` }
        const answer = await fetch(`${server.url}/Purchase/feed?payload=none&limit=1000${after && `&after=${after}`}`, {
          headers,
        })
        const { data } = (await answer.json()) as {
          data: { Deliveries: { ReceiptID: string }[]; NextCursor: string } | null
        }
        const receipts = data?.Deliveries.map(({ ReceiptID }) => ReceiptID) ?? []
        return { status: answer.status, receipts, next: data?.NextCursor ?? '' }
      }
      const cursors: string[] = []
      for (let page = await read(''); page.receipts.length > 0; page = await read(page.next)) cursors.push(page.next)
      expect(cursors).toHaveLength(OLD / 1000 + 1)
      const end = cursors.at(-1) as string

      /** The highest position that was removed. Of four deliveries one stays, unless orders go. */
      const highest = async (): Promise<number> => {
        const [row] = await query(
          `SELECT min(position) AS first FROM delivery WHERE position % 4 > ${isWhole ? -1 : 0}`,
        )
        const before = Number(row?.first) - 1
        return !isWhole && before % 4 === 0 ? before - 1 : before
      }
      const leftUnsent = async (count: number) => leftOf(count, (await query(UNSENT))[0])
      const purging = startProcess(['purge', '--older', '0', ...more], place)
      await until('some are removed', async () => (await highest()) > 0)
      purging.kill(signal)
      await once(purging, 'close')
      const removed = await highest()
      expect(removed).toBeLessThan(OLD - 1000)
      if (isWhole) expect(await leftUnsent(OLD)).toBe(OLD - removed)

      for (const [index, cursor] of cursors.entries()) {
        const page = await read(cursor)
        expect([index, page.status]).toEqual([index, (index + 1) * 1000 < removed ? 410 : 200])
        if (page.status === 200) expect(page.receipts).toHaveLength(index < OLD / 1000 - 1 ? 1000 : OLD / 1000 - index)
      }
      const next = await send('next')
      expect(await read(end)).toMatchObject({ status: 200, receipts: [next] })
      expect((await runPrepared(['purge', '--older', '0', ...more], place)).status).toBe(0)
      expect(await read(end)).toMatchObject({ status: 200, receipts: [next] })
      expect((await read(cursors.at(-3) as string)).status).toBe(410)
      // Also `last` was unsent.
      if (isWhole) expect(await leftUnsent(OLD + 1)).toBe(0)
    },
    60_000,
  )
})
