import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { WEBHOOK_ALLOW } from '../support/allowed-ports.ts'
import { addSupplier } from '../support/ledger.ts'
import { runPrepared } from '../support/prepared-commands.ts'
import { serve } from '../support/process.ts'
import { runSql, storesOfRun } from '../support/stores.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'
import { accept, type Behaviour, refuse, startReceiver } from '../support/webhook-receiver.ts'

const OLD = 40
const PURGE = ['purge', '--older', '400d', '--json']

/** Of four deliveries it takes two. */
const takeHalf: Behaviour = (received, response) =>
  (/"Status":[01]/.test(received.body) ? accept : refuse)(received, response)

it.each(storesOfRun())(
  'on %s, a purge beside a killed server keeps what its endpoint refused, which is sent after the next start and goes then',
  async (kind, emptyStore) => {
    const cwd = tempFolder()
    const sqlite = { DATABASE_URL: `sqlite:${join(cwd, 'teslim.db')}` }
    const store = kind === 'sqlite' ? sqlite : await emptyStore()
    const where = { cwd, env: { NODE_ENV: 'production', ...WEBHOOK_ALLOW, ...store } }
    await addSupplier(where)
    const received = Date.now() - 500 * 86_400_000
    if (kind === 'sqlite') {
      const file = new DatabaseSync(join(cwd, 'teslim.db'))
      file.exec(`
        WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${OLD + 1})
        INSERT INTO delivery (position, receipt, customer, status, received_at, payload)
        SELECT n, unhex(printf('%012x70008000%012x', ${received} + n, n)), 1, n % 4, ${received} + n, x'7B7D' FROM r`)
      file.close()
    } else {
      await runSql(
        store.DATABASE_URL,
        `INSERT INTO delivery (position, receipt, customer, status, received_at, payload)
         SELECT n, (lpad(to_hex(${received} + n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, 1, n % 4, ${received} + n, '{}'
           FROM generate_series(1, ${OLD + 1}::bigint) n`,
      )
      await runSql(store.DATABASE_URL, `SELECT setval('last_position', ${OLD + 1})`)
    }
    const run = async (...args: string[]) => {
      const { stdout, stderr, status } = await runPrepared(args, where)
      expect([status, stderr]).toEqual([0, ''])
      return JSON.parse(stdout)
    }

    const receiver = await startReceiver(takeHalf)
    const { Endpoint } = await run('webhook', 'add', '--url', receiver.url, '--from', 'start', '--json')
    const id: string = Endpoint.EndpointID
    const killed = await serve(where)
    await receiver.arrived(OLD + 1)
    const waiting = async () => (await run('webhook', 'show', id, '--json')).Endpoint.Pending
    await until('what was confirmed is saved', async () => (await waiting()) === OLD / 2)
    killed.child.kill('SIGKILL')
    await killed.ended

    const kept = { id, kept: OLD / 2, removed: 0 }
    expect(await run(...PURGE, '--dry-run')).toMatchObject({ deliveries: OLD / 2, webhooks: [kept] })
    expect(await run(...PURGE)).toMatchObject({ deliveries: OLD / 2, webhooks: [kept] })
    expect(await run(...PURGE)).toMatchObject({ deliveries: 0, webhooks: [kept] })

    const taken = new Set<string>()
    receiver.behave = (one, response) => {
      taken.add(one.id)
      accept(one, response)
    }
    const server = await serve(where)
    await until('what it had refused has arrived', () => taken.size >= OLD / 2, { milliseconds: 60_000 })
    await until('it is saved', async () => (await waiting()) === 0)
    // Of an endpoint that has taken everything nothing is said.
    expect(await run(...PURGE)).toMatchObject({ deliveries: OLD / 2, webhooks: [] })
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
  },
  120_000,
)
