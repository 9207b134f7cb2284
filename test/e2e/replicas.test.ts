import { afterAll, expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { seenWithinASecond } from '../support/app/seen-within-a-second.ts'
import { runSql, startPostgres } from '../support/postgres/postgres-server.ts'
import { pauseAfterRefusal } from '../support/processes/ledger.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { type ServerProcess, serve } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const postgres = await startPostgres()
afterAll(() => postgres.remove())
// Two seconds, which a connection may take, are too few on a busy machine.
const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', DATABASE_URL: `${postgres.url}?connect_timeout=30` } }
const run = async (...args: string[]) => JSON.parse((await runPrepared([...args, '--json'], where)).stdout)

const kills: (() => void)[] = []
afterAll(() => {
  for (const kill of kills) kill()
})
/** Waits until the server is ready: before that, it ends if the database is away. */
async function start(): Promise<ServerProcess> {
  const server = await serve(where, (kill) => void kills.push(kill))
  await until('the server is ready', async () => (await fetch(`${server.url}/readyz`)).status === 200)
  return server
}

/** A customer that may deliver everything and log in. */
async function keyOfSupplier(email: string) {
  const { id, password } = await run('customer', 'add', '--email', email, '--generate', '--api', '--allow', '*')
  const { id: keyId, key } = await run('key', 'issue', '--customer', id)
  return { id, password, keyId, key }
}

await keyOfSupplier('first@example.com')
const replicas = await Promise.all([start(), start()])

const deliver = (url: string, key: string, body: string, more: Record<string, string> = {}) =>
  fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key, ...more }, body })

it('what is changed by one process holds in every other within a second', async () => {
  const email = 'changed@example.com'
  const { password, keyId, key } = await keyOfSupplier(email)
  const all = async (attempt: (url: string) => Promise<Response>): Promise<number[]> =>
    Promise.all(replicas.map(async ({ url }) => (await attempt(url)).status))
  const login = (url: string) =>
    fetch(`${url}/Login/Customer/Api/Verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ Email: email, Password: password }),
    })
  const order = '{"OrderID":"changed","Status":1}'

  expect(await all((url) => deliver(url, key, order))).toEqual([200, 200])
  expect(await all(login)).toEqual([200, 200])
  const keySets = await Promise.all(
    replicas.map(async ({ url }) => (await fetch(`${url}/.well-known/jwks.json`)).json()),
  )
  expect(keySets[1]).toEqual(keySets[0])

  await run('customer', 'disallow', email, '*')
  await seenWithinASecond(() => all((url) => deliver(url, key, order)), [403, 403])
  await run('customer', 'allow', email, '*')
  await run('key', 'set', keyId, '--from', '203.0.113.0/24,2001:db8::/32')
  await seenWithinASecond(() => all((url) => deliver(url, key, order)), [401, 401])
  await run('key', 'set', keyId, '--from', '127.0.0.1')
  await seenWithinASecond(() => all((url) => deliver(url, key, order)), [200, 200])
  await run('key', 'set', keyId, '--rate', '1')
  const twice = async (url: string) => {
    await deliver(url, key, order)
    return deliver(url, key, order)
  }
  await seenWithinASecond(() => all(twice), [429, 429])
  await run('key', 'set', keyId, '--rate', 'none')
  await seenWithinASecond(() => all((url) => deliver(url, key, order)), [200, 200])
  await run('key', 'revoke', keyId)
  await seenWithinASecond(() => all((url) => deliver(url, key, order)), [401, 401])
  await run('customer', 'disable', email)
  await seenWithinASecond(() => all(login), [400, 400])
})

it('an API key that is revoked or expires reads nothing in any replica a second later', async () => {
  const { id, keyId, key } = await keyOfSupplier('reader@example.com')
  const sent = await deliver(replicas[0].url, key, '{"OrderID":"read","Status":1}')
  const { data } = (await sent.json()) as { data: { ReceiptID: string } }
  const delivery = `/Supplier/delivery/${data.ReceiptID}`
  const paths = ['/Supplier/Get', '/Supplier/deliveries', delivery, `${delivery}/payload`]
  const statuses = (ApiKey: string): Promise<number[]> =>
    Promise.all(
      replicas.flatMap((replica) =>
        paths.map(async (path) => (await fetch(replica.url + path, { headers: { ApiKey } })).status),
      ),
    )
  const all = (status: number): number[] => Array.from({ length: 2 * paths.length }, () => status)

  expect(await statuses(key)).toEqual(all(200))
  const short = await run('key', 'issue', '--customer', id, '--label', 'short', '--expires', '3s')
  expect(await statuses(short.key)).toEqual(all(200))
  await run('key', 'revoke', keyId)
  await expect.poll(() => statuses(key), { timeout: 1000, interval: 50 }).toEqual(all(401))
  const left = Date.parse(short.expiresAt) - Date.now()
  await expect.poll(() => statuses(short.key), { timeout: Math.max(left, 0) + 1000, interval: 100 }).toEqual(all(401))
}, 60_000)

it('servers and a database that are killed under load lose nothing that was answered 200, and double nothing', async () => {
  const { key } = await keyOfSupplier('killed@example.com')
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
        const answer = await deliver(url, key, body, { 'idempotency-key': `${number}-${order}` }).catch(() => undefined)
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
    // Processes of the killed server may answer for a moment.
    await until('it is not ready', async () => (await fetch(`${replicas[0].url}/readyz`)).status === 503)
    expect((await fetch(`${replicas[0].url}/livez`)).status).toBe(200)
    await postgres.start()
    await reached(0.5)
    replicas[1].child.kill('SIGKILL')
    replicas[1] = await start()
    await reached(0.8)
    await postgres.kill()
    await postgres.start()
  }
  await Promise.all([accidents(), ...Array.from({ length: CLIENTS }, (_, number) => client(number))])

  expect(refused).toBeGreaterThan(0)
  const rows = await runSql(postgres.url, `SELECT receipt, payload FROM delivery WHERE order_id LIKE '%-%'`)
  expect(new Map(rows.map(({ receipt, payload }) => [receipt, String(payload)]))).toEqual(acknowledged)
  expect(rows).toHaveLength(CLIENTS * PER_CLIENT)
  const wrong = await runSql(
    postgres.url,
    `SELECT order_id FROM order_state s
        WHERE latest_position <> (SELECT max(position) FROM delivery d WHERE d.order_id = s.order_id)
           OR status <> (SELECT status FROM delivery d WHERE d.position = s.latest_position)`,
  )
  expect(wrong).toEqual([])
}, 120_000)
