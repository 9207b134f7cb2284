import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ask } from '../../support/app/ask.ts'
import { canTrace, inject } from '../../support/faults/faults.ts'
import { freePort } from '../../support/postgres/postgres-server.ts'
import { newPostgresStore } from '../../support/postgres/postgres-session.ts'
import { deliver, keyOfSupplier } from '../../support/processes/ledger.ts'
import { serve } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { pace } from '../../support/until.ts'

const traceable = canTrace()

/** A server in production, and whether it says that it is ready, in all three places. */
async function served(env: Record<string, string> = {}) {
  const port = await freePort()
  const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', ...env } }
  const key = await keyOfSupplier(where)
  const server = await serve({ ...where, env: { ...where.env, TESLIM_OPS_PORT: `${port}` } })
  const get = async (url: string): Promise<{ status: number; body: string }> => {
    const begun = performance.now()
    const answer = await ask(url, { method: 'GET', headers: {} })
    expect(performance.now() - begun, `${url} took so long`).toBeLessThan(url.endsWith('readyz') ? 2000 : 3000)
    return answer
  }
  const look = async () => {
    const [api, ops, metrics] = await Promise.all(
      [`${server.url}/readyz`, `http://127.0.0.1:${port}/readyz`, `http://127.0.0.1:${port}/metrics`].map(get),
    )
    const ready = /^teslim_ready 1$/m.test(metrics?.body ?? '')
    return { ready: [api?.status === 200, ops?.status === 200, ready], reason: ops?.body ?? '' }
  }
  const isReady = async (): Promise<boolean> => (await look()).ready.every(Boolean)
  await expect.poll(isReady, { timeout: 10_000 }).toBe(true)
  return {
    ...where,
    key,
    server,
    look,
    isReady,
    load: () => {
      const load = deliver({ url: server.url, key, clients: 4 })
      onTestFinished(() => load.stop())
      return load
    },
    /** Looks again and again for so many seconds: each answer has to be no, in all three places. Resolves to the last reason. */
    async staysUnready(seconds: number): Promise<string> {
      let reason = ''
      for (const end = performance.now() + seconds * 1000; performance.now() < end; await pace(100)) {
        const seen = await look()
        reason = seen.reason
        expect(seen.ready, reason).toEqual([false, false, false])
      }
      return reason
    },
  }
}

/** Resolves once another process holds the write lock of the store in this folder; ends that process. */
async function lockFile(cwd: string): Promise<() => void> {
  const path = JSON.stringify(join(cwd, 'data/teslim.db'))
  const program = `new (require('node:sqlite').DatabaseSync)(${path}, { timeout: 10000 }).exec('BEGIN IMMEDIATE'); console.log('locked'); setInterval(() => {}, 1000)`
  const other = spawn(process.execPath, ['-e', program])
  onTestFinished(() => void other.kill('SIGKILL'))
  await once(other.stdout, 'data')
  return () => void other.kill('SIGKILL')
}

describe('a store on a file', () => {
  it('whose lock another process holds is not ready within seconds, and names it, whether a supplier sends or not', async () => {
    const locked = async (sends: boolean, seconds: number): Promise<void> => {
      const { cwd, isReady, staysUnready, load, server } = await served()
      const sending = sends ? load() : undefined
      await sending?.more(20)
      const release = await lockFile(cwd)
      await expect.poll(isReady, { timeout: 8000 }).toBe(false)
      expect(await staysUnready(seconds)).toMatch(/another process holds its lock.*: node.* \(process \d+\)/)
      release()
      await expect.poll(isReady, { timeout: 5000 }).toBe(true)
      await sending?.more(20)
      expect(server.child.exitCode).toBe(null)
    }
    await Promise.all([locked(true, 12), locked(false, 4)])
  })

  it.runIf(traceable)(
    'whose syncs take 3 seconds is not made ready by retries, which are answered at once',
    async () => {
      const { isReady, staysUnready, server, key } = await served()
      const retry = () =>
        ask(`${server.url}/Purchase/update`, {
          method: 'POST',
          headers: { ApiKey: key, 'content-type': 'application/json', 'idempotency-key': 'retried' },
          body: '{"OrderID":"A","Status":1,"ProductID":"P"}',
        })
      expect((await retry()).status).toBe(200)
      const heal = await inject(server.child.pid, ['fsync:delay_enter=3000000', 'fdatasync:delay_enter=3000000'])
      let retries = 0
      const stop = new AbortController()
      const retrying = (async () => {
        for (; !stop.signal.aborted; retries++) expect((await retry()).status).toBe(200)
      })()
      await expect.poll(isReady, { timeout: 20_000 }).toBe(false)
      await staysUnready(8)
      stop.abort()
      await retrying
      expect(retries).toBeGreaterThan(1)
      await heal()
      await expect.poll(isReady, { timeout: 8000 }).toBe(true)
    },
  )

  it.runIf(traceable)('whose syncs take 3 seconds is not ready until they are quick again', async () => {
    const { isReady, staysUnready, load, server } = await served()
    const sending = load()
    await sending.more(20)
    const heal = await inject(server.child.pid, ['fsync:delay_enter=3000000', 'fdatasync:delay_enter=3000000'])
    await expect.poll(isReady, { timeout: 8000 }).toBe(false)
    await staysUnready(8)
    await heal()
    await expect.poll(isReady, { timeout: 8000 }).toBe(true)
    await sending.more(20)
  })
})

describe('a PostgreSQL database', () => {
  const deliveries = `SELECT pg_advisory_lock(7425, 'last_position'::regclass::oid::integer)`
  const held = [
    { sends: true, locks: 'what admits batches one by one', lock: deliveries },
    { sends: false, locks: 'what admits batches one by one', lock: deliveries },
    { sends: true, locks: 'the table of deliveries', lock: 'LOCK TABLE delivery IN EXCLUSIVE MODE' },
    { sends: false, locks: 'the table of orders', lock: 'LOCK TABLE order_state IN EXCLUSIVE MODE' },
    { sends: true, locks: 'the number of changes', lock: 'LOCK TABLE account_version IN ACCESS EXCLUSIVE MODE' },
  ]
  it('in which a session holds a lock is not ready within seconds, and names it, whether a supplier sends or not', async () => {
    const locked = async ({ sends, locks, lock }: (typeof held)[number]): Promise<void> => {
      const url = await newPostgresStore()
      const { isReady, staysUnready, load } = await served({ DATABASE_URL: url })
      const sending = sends ? load() : undefined
      await sending?.more(20)
      const holder = new pg.Client({ connectionString: url })
      await holder.connect()
      onTestFinished(() => holder.end().catch(() => undefined))
      const { rows } = await holder.query('SELECT pg_backend_pid() AS pid')
      await holder.query('BEGIN')
      await holder.query(lock)
      await expect.poll(isReady, { timeout: 8000, message: locks }).toBe(false)
      const named = `another session holds a lock in the database (process ${rows[0].pid})`
      expect(await staysUnready(6), locks).toContain(named)
      await holder.end()
      await expect.poll(isReady, { timeout: 8000, message: locks }).toBe(true)
      await sending?.more(20)
    }
    await Promise.all(held.map(locked))
  })
})
