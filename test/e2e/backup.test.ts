import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { constants, getPriority } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { deliver, makeSupplier, missingFrom, SUPPLIER_EMAIL } from '../support/processes/ledger.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { serve, startProcess, teslim } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const env = { NODE_ENV: 'production' }

it('a restored backup continues every follower that has not read beyond it, refuses all others, and skips nothing', async () => {
  const cwd = tempFolder()
  const where = { cwd, env }
  const { key, password } = await makeSupplier(where, ['--api', '--allow', '*'])
  let server = await serve(where)

  const deliverOrders = async (prefix: string, count: number) => {
    for (let number = 0; number < count; number++) {
      const body = JSON.stringify({ OrderID: `${prefix}-${number}`, Status: 1 })
      const answer = await fetch(`${server.url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body })
      expect(answer.status).toBe(200)
    }
  }
  const logIn = async () => {
    const answer = await fetch(`${server.url}/Login/Customer/Api/Verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ Email: SUPPLIER_EMAIL, Password: password }),
    })
    return ((await answer.json()) as { data: { Token: string } }).data.Token
  }
  const follow = async (query: string) => {
    const answer = await fetch(`${server.url}/Purchase/feed?${query}`, {
      headers: { Authorization: `Bearer ${token}` },
    })
    const { data, errorCode } = (await answer.json()) as {
      data: { Deliveries: { OrderID: string }[]; NextCursor: string } | null
      errorCode?: string
    }
    const orders = data?.Deliveries.map(({ OrderID }) => OrderID) ?? []
    return { status: answer.status, errorCode, orders, cursor: data?.NextCursor ?? '' }
  }

  let token = await logIn()
  await deliverOrders('before', 3)
  const { cursor: old } = await follow('limit=1')
  const { cursor: atTheEnd } = await follow('limit=100')
  expect(await runPrepared(['backup', 'b.db'], where)).toMatchObject({ status: 0, stderr: '' })
  await deliverOrders('undone', 4)
  const { cursor: undone } = await follow('limit=5')
  const { cursor: later } = await follow('limit=100')

  const refused = await runPrepared(['restore', 'b.db'], where)
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringMatching(/is in use by process \d+ on /) })
  expect((await follow('limit=100')).orders).toHaveLength(7)

  server.child.kill('SIGTERM')
  await server.ended
  const restored = await runPrepared(['restore', 'b.db', '--json'], where)
  expect(restored).toMatchObject({ status: 0, stderr: '' })
  expect(JSON.parse(restored.stdout)).toMatchObject({ deliveriesUndone: 4, undone: [] })
  server = await serve(where)
  token = await logIn()

  const invalid = { status: 400, errorCode: 'CURSOR_INVALID' }
  expect(await follow(`after=${old}`)).toMatchObject({ status: 200, orders: ['before-1', 'before-2'] })
  expect(await follow(`after=${atTheEnd}`)).toMatchObject({ status: 200, orders: [] })
  for (const cursor of [undone, later]) expect(await follow(`after=${cursor}`)).toMatchObject(invalid)
  // Their positions are given again.
  await deliverOrders('after', 6)
  for (const cursor of [undone, later]) expect(await follow(`after=${cursor}`)).toMatchObject(invalid)
  const after = Array.from({ length: 6 }, (_, number) => `after-${number}`)
  const rest = await follow(`after=${atTheEnd}`)
  expect(rest).toMatchObject({ status: 200, orders: after })
  expect(await follow(`after=${rest.cursor}`)).toMatchObject({ status: 200, orders: [] })
})

it('a backup while many deliver holds all that was confirmed before; of two at once one is made', async () => {
  const cwd = tempFolder()
  const where = { cwd, env }
  const { key } = await makeSupplier(where)
  const server = await serve(where)
  const load = deliver({ url: server.url, key, clients: 4 })
  await load.more(100)
  const before = [...load.acknowledged]
  const made = await Promise.all([1, 2].map(() => teslim(['backup', 'b.db', '--json'], where)))
  await load.more(50)
  await load.stop()
  const statuses = made.map(({ status }) => status).toSorted()
  expect(statuses).toEqual([0, 1])
  expect(made.map(({ stderr }) => stderr).join('')).toMatch(/Another process is making a backup|is there already/)
  expect([...load.others.keys()]).toEqual([])
  expect(missingFrom(join(cwd, 'b.db'), before)).toEqual([])
  expect(readdirSync(cwd).toSorted()).toEqual(['b.db', 'b.db.sha256', 'data'])
  expect(await runPrepared(['restore', '--check', 'b.db'], where)).toMatchObject({ status: 0 })
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
  expect(missingFrom(join(cwd, 'data/teslim.db'), load.acknowledged)).toEqual([])
})

it('a backup beside a process that commits without a pause ends, and holds one state', async () => {
  const cwd = tempFolder()
  await makeSupplier({ cwd, env })
  const writer = spawn(
    process.execPath,
    [
      '-e',
      `const database = new (require('node:sqlite').DatabaseSync)('data/teslim.db', { timeout: 5000 })
       database.exec('PRAGMA synchronous = OFF; CREATE TABLE filler AS SELECT zeroblob(12000000) AS bytes; CREATE TABLE pair (a, b); INSERT INTO pair VALUES (0, 0)')
       for (let n = 0; ; n++) {
         database.exec('BEGIN IMMEDIATE; UPDATE pair SET a = a + 1; UPDATE pair SET b = b + 1; COMMIT')
         if (n === 0) console.log('writes')
       }`,
    ],
    { cwd },
  )
  onTestFinished(() => void writer.kill('SIGKILL'))
  await once(writer.stdout, 'data')
  expect(await runPrepared(['backup', 'b.db'], { cwd, env })).toMatchObject({ status: 0, stderr: '' })
  const pairIn = (path: string) => {
    const database = new DatabaseSync(join(cwd, path), { readOnly: true })
    const pair = database.prepare('SELECT a, b FROM pair').get() as { a: number; b: number }
    database.close()
    return pair
  }
  const { a, b } = pairIn('b.db')
  expect(a).toBe(b)
  expect(a).toBeGreaterThan(0)
  expect(pairIn('data/teslim.db').a).toBeGreaterThan(a)
})

it('a schedule ends on SIGTERM with status 0', async () => {
  const cwd = tempFolder()
  await makeSupplier({ cwd, env })
  const child = startProcess(['backup', '.', '--every', '6h', '--json'], { cwd, env })
  const [line] = (await child.stdout.take(1).toArray()) as Buffer[]
  const { path } = JSON.parse(String(line)) as { path: string }
  expect(statSync(path).size).toBeGreaterThan(0)
  child.kill('SIGTERM')
  expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0)
})

it('a backup leaves the processor to servers', async () => {
  const where = { cwd: tempFolder(), env }
  await makeSupplier(where)
  const child = startProcess(['backup', '.', '--every', '1d'], where)
  const ended = once(child, 'exit')
  const { PRIORITY_LOW } = constants.priority
  await until('its priority is low', () => getPriority(child.pid) === PRIORITY_LOW)
  child.kill('SIGTERM')
  await ended
})
