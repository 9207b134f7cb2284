import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, it, vi } from 'vitest'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { keyOfSupplier, makeSupplier } from '../support/processes/ledger.ts'
import {
  deliverOnce,
  GONE,
  oneConnection,
  PRODUCTION,
  serveWithoutStore,
  untilStored,
} from '../support/processes/missing-store.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { serve, teslim } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

// Processes that wait for each other.
vi.setConfig({ testTimeout: 60_000 })

interface Place {
  readonly cwd: string
  readonly env: Record<string, string>
  /** What is there instead of a store. */
  readonly made: () => Promise<readonly unknown[]>
}

async function newPlace(kind: string): Promise<Place> {
  const cwd = tempFolder()
  if (kind === 'sqlite') {
    const env = { ...PRODUCTION, DATABASE_URL: `sqlite:${cwd}/data/teslim.db` }
    return { cwd, env, made: async () => readdirSync(cwd) }
  }
  const DATABASE_URL = await newDatabase(inject('postgresUrl'))
  const made = () => runSql(DATABASE_URL, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
  return { cwd, env: { ...PRODUCTION, DATABASE_URL }, made }
}

const REQUESTS = [
  ['GET', '/'],
  ['GET', '/readyz'],
  ['GET', '/docs'],
  ['GET', '/console'],
  ['GET', '/openapi.json'],
  ['GET', '/.well-known/jwks.json'],
  ['GET', '/nowhere/at/all'],
  ['GET', '/Purchase/list'],
  ['GET', '/Operator/health'],
  ['GET', '/Webhook/endpoints'],
  ['POST', '/Login/Customer/Api/Verify'],
  ['POST', '/Purchase/update'],
  ['POST', '/purchase/UPDATE/?validateOnly=true'],
  ['DELETE', '/Purchase/update'],
  ['OPTIONS', '/Purchase/list'],
  ['PROPFIND', '/livez'],
] as const

describe.each(['sqlite', 'postgres'])('in production without a store (%s)', (kind) => {
  it('a server answers its health only, says to operators alone what to do, makes nothing, and ends at SIGTERM', async () => {
    const { cwd, env, made } = await newPlace(kind)
    const server = await serveWithoutStore(cwd, env)
    const client = oneConnection(server)
    expect((await client.ask('/livez')).status).toBe(200)
    for (const [method, path] of REQUESTS) {
      const { status, text, headers } = await client.ask(
        path,
        method,
        { ApiKey: 'tsl_x' },
        method === 'POST' ? '{}' : undefined,
      )
      expect([method, path, status, headers['retry-after']]).toEqual([method, path, 503, '10'])
      expect(JSON.parse(text)).toEqual({
        data: null,
        success: false,
        message: 'The service has no storage right now. Nothing was stored; send the request again.',
        errorCode: 'STORE_MISSING',
        requestId: headers['x-request-id'],
      })
    }
    expect(client.connections()).toBe(1)
    // undici ends a connection after HEAD.
    expect(await oneConnection(server).ask('/docs', 'HEAD')).toMatchObject({ status: 503, text: '' })

    const place = kind === 'sqlite' ? `There is no store at ${cwd}/data/teslim.db` : 'There is no store in the database'
    const said = expect.stringMatching(
      new RegExp(`^${place}.* "teslim customer add" or "teslim migrate" creates one\\.\n$`),
    )
    expect(await server.ops('/readyz')).toEqual({ status: 503, text: said })
    expect((await server.ops('/livez')).status).toBe(200)
    const { text } = await server.ops('/metrics')
    expect(text).toMatch(/^teslim_ready 0\n/m)
    expect(text).toMatch(/^teslim_store_up 0\n/m)
    expect(text).toMatch(/^process_start_time_seconds /m)
    const doctor = await teslim(['doctor', '--json'], { cwd, env })
    expect([doctor.status, JSON.parse(doctor.stdout).checks]).toEqual([
      1,
      expect.arrayContaining([
        expect.objectContaining({ name: 'store', status: 'failed', message: expect.stringContaining(place) }),
      ]),
    ])
    expect(await made()).toEqual([])

    const told = performance.now()
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
    expect(performance.now() - told).toBeLessThan(3000)
    expect(server.output().split(GONE)).toHaveLength(2)
    expect(server.output().split(place)).toHaveLength(2)
  })

  it.each(['customer add', 'migrate'])(
    'it serves on the connections that it has, and pushes and counts, once there is one by %s',
    async (way) => {
      const { cwd, env } = await newPlace(kind)
      const server = await serveWithoutStore(cwd, env)
      const client = oneConnection(server)
      expect((await client.ask('/readyz')).code).toBe('STORE_MISSING')
      if (way === 'migrate') {
        expect((await runPrepared(['migrate'], { cwd, env })).status).toBe(0)
        await expect.poll(async () => (await client.ask('/readyz')).code, { timeout: 10_000 }).toBe('STORE_EMPTY')
      }
      const { key, password } = await makeSupplier({ cwd, env }, ['--api', '--allow', '*'])
      await expect.poll(async () => (await client.ask('/readyz')).status, { timeout: 10_000 }).toBe(200)
      const delivered = await client.ask('/Purchase/update', 'POST', { ApiKey: key }, '{"OrderID":"PO-1","Status":2}')
      expect(delivered.status).toBe(200)
      const login = await client.ask(
        '/Login/Customer/Api/Verify',
        'POST',
        { 'content-type': 'application/json' },
        JSON.stringify({ Email: 'a@b.co', Password: password }),
      )
      const { Token } = JSON.parse(login.text).data
      const bearer = { authorization: `Bearer ${Token}` }
      expect((await client.ask('/Purchase/feed', 'GET', bearer)).text).toContain('PO-1')
      expect((await client.ask('/docs')).status).toBe(200)
      expect((await client.ask('/nowhere')).status).toBe(404)
      expect(client.connections()).toBe(1)
      const { text } = await server.ops('/metrics')
      expect(text).toMatch(/^teslim_ready 1\n/m)
      expect(text).toMatch(/^teslim_deliveries_total\{[^}]*status="2"[^}]*\} 1\n/m)
      expect(text).toMatch(/^teslim_delivery_batch_size_count 1\n/m)
      expect(await server.ops('/readyz')).toEqual({ status: 200, text: 'ok\n' })
      const uploaded = await client.ask('/Purchase/updates', 'POST', { ApiKey: key }, '{"OrderID":"PO-2","Status":1}\n')
      expect(uploaded.text).toContain('ReceiptID')
      server.child.kill('SIGTERM')
      expect(await server.ended).toBe(0)
      expect(server.output().split('"the store is open"')).toHaveLength(2)
    },
  )
})

describe.each(['sqlite', 'postgres'])('in production a store without a customer (%s)', (kind) => {
  it('makes no server ready, and no supplier is told that its key is wrong, until there is one that was not removed', async () => {
    const { cwd, env } = await newPlace(kind)
    const run = (...args: string[]) => runPrepared(args, { cwd, env })
    await run('customer', 'add', '--email', 'former@b.co', '--generate')
    await run('customer', 'remove', 'former@b.co', '--erase')
    const server = await serve({ cwd, env })
    await server.printed(/no customer yet, add one/)
    const client = oneConnection(server)
    for (const path of ['/readyz', '/Purchase/update', '/Purchase/list', '/docs'])
      expect(await client.ask(path)).toMatchObject({
        status: 503,
        code: 'STORE_EMPTY',
        headers: { 'retry-after': '10' },
      })
    expect((await client.ask('/livez')).status).toBe(200)

    const key = await keyOfSupplier({ cwd, env })
    expect(await untilStored(server, key)).not.toContain(401)
    expect((await client.ask('/readyz')).status).toBe(200)
    await run('customer', 'remove', 'a@b.co')
    await expect.poll(async () => (await client.ask('/readyz')).code, { timeout: 10_000 }).toBe('STORE_EMPTY')
    expect(await deliverOnce(server, key)).toBe(503)
  })
})

it('outside production a server makes its store, with a sandbox customer, as before', async () => {
  const cwd = tempFolder()
  const server = await serve({ cwd })
  await server.printed(/created a new store/)
  expect(existsSync(join(cwd, 'data/teslim.db'))).toBe(true)
})
