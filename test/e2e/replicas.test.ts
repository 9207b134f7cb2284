import { expect, inject, it } from 'vitest'
import { fetch } from '../support/checked-fetch.ts'
import { makeSupplier, pauseAfterRefusal, SUPPLIER_EMAIL } from '../support/ledger.ts'
import { newDatabase, runSql, startPostgres } from '../support/postgres-server.ts'
import { type ServerProcess, serve, teslim } from '../support/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

/** A database with a customer that may deliver everything. */
async function prepare(databaseUrl: string) {
  const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', DATABASE_URL: databaseUrl } }
  const run = async (...args: string[]) => JSON.parse((await teslim([...args, '--json'], where)).stdout)
  return { where, run, ...(await makeSupplier(where, ['--api', '--allow', '*'])) }
}

const withinASecond = (look: () => Promise<unknown>) => expect.poll(look, { timeout: 1000, interval: 20 })

const deliver = (url: string, key: string, body: string, more: Record<string, string> = {}) =>
  fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key, ...more }, body })

it('what is changed by one process holds in every other within a second', async () => {
  const { where, run, password, keyId, key } = await prepare(await newDatabase(inject('postgresUrl')))
  const replicas = await Promise.all([serve(where), serve(where)])
  const all = async (attempt: (url: string) => Promise<Response>): Promise<number[]> =>
    Promise.all(replicas.map(async ({ url }) => (await attempt(url)).status))
  const login = (url: string) =>
    fetch(`${url}/Login/Customer/Api/Verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ Email: SUPPLIER_EMAIL, Password: password }),
    })
  const order = '{"OrderID":"1","Status":1}'

  expect(await all((url) => deliver(url, key, order))).toEqual([200, 200])
  expect(await all(login)).toEqual([200, 200])
  const keySets = await Promise.all(
    replicas.map(async ({ url }) => (await fetch(`${url}/.well-known/jwks.json`)).json()),
  )
  expect(keySets[1]).toEqual(keySets[0])

  await run('customer', 'disallow', SUPPLIER_EMAIL, '*')
  await withinASecond(() => all((url) => deliver(url, key, order))).toEqual([403, 403])
  await run('customer', 'allow', SUPPLIER_EMAIL, '*')
  await run('key', 'set', keyId, '--from', '203.0.113.0/24,2001:db8::/32')
  await withinASecond(() => all((url) => deliver(url, key, order))).toEqual([401, 401])
  await run('key', 'set', keyId, '--from', '127.0.0.1')
  await withinASecond(() => all((url) => deliver(url, key, order))).toEqual([200, 200])
  await run('key', 'set', keyId, '--rate', '1')
  await withinASecond(() => all((url) => deliver(url, key, order))).toEqual([429, 429])
  await run('key', 'set', keyId, '--rate', 'none')
  await withinASecond(() => all((url) => deliver(url, key, order))).toEqual([200, 200])
  await run('key', 'revoke', keyId)
  await withinASecond(() => all((url) => deliver(url, key, order))).toEqual([401, 401])
  await run('customer', 'disable', SUPPLIER_EMAIL)
  await withinASecond(() => all(login)).toEqual([400, 400])
})

it('servers and a database that are killed under load lose nothing that was answered 200, and double nothing', async () => {
  const postgres = await startPostgres()
  try {
    const { where, key } = await prepare(postgres.url)
    const replicas = [await serve(where), await serve(where)]
    const CLIENTS = 16
    const PER_CLIENT = 30
    const acknowledged = new Map<string, string>()
    let refused = 0
    let answered = 0

    /** As a supplier would: again, with the same key, until there is a receipt. */
    const client = async (number: number): Promise<void> => {
      for (let order = 0; order < PER_CLIENT; order++) {
        const body = `{"OrderID":"${number}-${order % 5}", "Status":${order % 4}, "n":${order}}`
        for (let attempt = 0; ; attempt++) {
          const { url } = replicas[(number + attempt) % 2] as ServerProcess
          const answer = await deliver(url, key, body, { 'idempotency-key': `${number}-${order}` }).catch(
            () => undefined,
          )
          if (answer?.status === 200) {
            acknowledged.set(((await answer.json()) as { data: { ReceiptID: string } }).data.ReceiptID, body)
            answered++
            break
          }
          if (answer !== undefined) {
            expect(answer.status).toBe(503)
            expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
            refused++
          }
          await pauseAfterRefusal()
        }
      }
    }
    const reached = (share: number) =>
      until(`${share} of the deliveries are answered 200`, () => answered >= CLIENTS * PER_CLIENT * share, {
        milliseconds: 60_000,
      })
    const accidents = async (): Promise<void> => {
      await reached(0.2)
      await postgres.kill()
      const [health, life] = await Promise.all(
        ['/readyz', '/livez'].map((path) => fetch(`${(replicas[0] as ServerProcess).url}${path}`)),
      )
      expect([health?.status, life?.status]).toEqual([503, 200])
      await postgres.start()
      await reached(0.5)
      ;(replicas[1] as ServerProcess).child.kill('SIGKILL')
      replicas[1] = await serve(where)
      await reached(0.8)
      await postgres.kill()
      await postgres.start()
    }
    await Promise.all([accidents(), ...Array.from({ length: CLIENTS }, (_, number) => client(number))])

    expect(refused).toBeGreaterThan(0)
    const rows = await runSql(postgres.url, 'SELECT receipt, payload FROM delivery')
    expect(new Map(rows.map(({ receipt, payload }) => [receipt, String(payload)]))).toEqual(acknowledged)
    expect(rows).toHaveLength(CLIENTS * PER_CLIENT)
    const wrong = await runSql(
      postgres.url,
      `SELECT order_id FROM order_state s
        WHERE latest_position <> (SELECT max(position) FROM delivery d WHERE d.order_id = s.order_id)
           OR status <> (SELECT status FROM delivery d WHERE d.position = s.latest_position)`,
    )
    expect(wrong).toEqual([])
  } finally {
    await postgres.remove()
  }
}, 120_000)
