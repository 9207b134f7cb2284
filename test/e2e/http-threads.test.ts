import { once } from 'node:events'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { Client } from 'undici'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { ask } from '../support/ask.ts'
import { makeCertificate, storeCertificate } from '../support/certificate.ts'
import { fetch } from '../support/checked-fetch.ts'
import { type Acknowledged, deliver, makeSupplier, missingFrom } from '../support/ledger.ts'
import { freePort } from '../support/postgres-server.ts'
import { runPrepared } from '../support/prepared-commands.ts'
import { type ServerProcess, serve, startServer } from '../support/process.ts'
import { seenWithinASecond } from '../support/seen-within-a-second.ts'
import { tempFolder } from '../support/temp-folder.ts'

// Three threads are started for each server.
vi.setConfig({ testTimeout: 60_000 })

const isLinux = process.platform === 'linux'
if (!isLinux) console.log('threads that take requests: skipped, they share a port only on Linux')

const THREADS = { NODE_ENV: 'production', TESLIM_HTTP_THREADS: '3' }
/** Enough that each of three threads gets some of them: (2/3)^30 is one in 190,000. */
const CONNECTIONS = 30

interface Body {
  readonly data: Record<string, unknown>
  readonly requestId: string
}

/** Clients with a connection each, which they keep. */
function connectClients(url: string) {
  const dispatchers = Array.from({ length: CONNECTIONS }, () => new Client(url))
  const send = async (client: number, path: string, headers: Record<string, string> = {}, body?: string) => {
    const method = body === undefined ? 'GET' : 'POST'
    const dispatcher = dispatchers[client] as Client
    const answer = await ask(`${url}${path}`, { method, headers, dispatcher, ...(body !== undefined && { body }) })
    return { status: answer.status, body: JSON.parse(answer.body) as Body }
  }
  const everybody = <Result>(work: (client: number) => Promise<Result>): Promise<Result[]> =>
    Promise.all(dispatchers.map((_, client) => work(client)))
  const leave = (): void => {
    for (const dispatcher of dispatchers) void dispatcher.destroy()
  }
  return { ask: send, everybody, leave }
}

async function startThreads(env: Record<string, string> = {}) {
  const cwd = tempFolder()
  const supplier = await makeSupplier({ cwd }, ['--api', '--region', 'TR', '--allow', '*'])
  const server = await startServer(
    { cwd, env: { ...THREADS, TESLIM_OPS_PORT: `${await freePort()}`, ...env } },
    afterAll,
  )
  await server.printed(/3 threads take requests/)
  return { cwd, ...supplier, server, file: join(cwd, 'data/teslim.db') }
}

const scrape = async (server: ServerProcess) => {
  const [, url = ''] = await server.printed(/metrics at (http:[^"]+)"/)
  const samples = (await (await fetch(url)).text()).matchAll(/^([^#].*) (\S+)$/gm)
  return new Map(Array.from(samples, ([, name = '', value]) => [name, Number(value)]))
}

/** The lines of the log, which must be whole. */
const linesOf = (server: ServerProcess): Record<string, unknown>[] =>
  server
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))

describe.skipIf(!isLinux)('three threads over one file', async () => {
  const { server, cwd, file, key, password, id } = await startThreads()
  const clients = connectClients(server.url)
  afterAll(() => clients.leave())
  const token = async (client: number): Promise<string> => {
    const body = JSON.stringify({ Email: 'a@b.co', Password: password })
    const answer = await clients.ask(client, '/Login/Customer/Api/Verify', { 'content-type': 'application/json' }, body)
    return answer.body.data.Token as string
  }

  it('store what each of them answers, find the receipts of the others, and count together', async () => {
    const before = await scrape(server)
    const acknowledged: Acknowledged[] = []
    for (let round = 0; round < 10; round++) {
      await clients.everybody(async (client) => {
        const order = `order-${client}`
        const body = `{"OrderID":"${order}","Status":${round % 4},"n":${round}}`
        const answer = await clients.ask(client, '/Purchase/update', { ApiKey: key }, body)
        expect(answer.status).toBe(200)
        acknowledged.push({ receipt: answer.body.data.ReceiptID as string, order, body })
      })
    }
    expect(missingFrom(file, acknowledged)).toEqual([])
    const found = await clients.everybody((client) =>
      clients.ask(client, `/Supplier/delivery/${acknowledged[client]?.receipt}`, { ApiKey: key }),
    )
    expect(found.map(({ status }) => status)).toEqual(Array(CONNECTIONS).fill(200))
    const after = await scrape(server)
    const increase = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0)
    const delivered = ['0', '1', '2', '3'].map((status) =>
      increase(`teslim_deliveries_total{status="${status}",duplicate="false"}`),
    )
    expect(delivered).toEqual([3, 3, 2, 2].map((rounds) => rounds * CONNECTIONS))
    expect(increase('teslim_delivery_batch_size_sum')).toBe(10 * CONNECTIONS)
    expect(increase('teslim_http_request_duration_seconds_bucket{route="/Purchase/update",le="+Inf"}')).toBe(
      10 * CONNECTIONS,
    )
    expect(after.get('teslim_http_connections')).toBe(CONNECTIONS)
    expect(after.get('teslim_queue_deliveries_limit')).toBe(10_000)
  })

  it('write each request to the log once, in a line of its own', async () => {
    const answers = await clients.everybody((client) => clients.ask(client, '/nowhere'))
    const ids = new Set(answers.map(({ body }) => body.requestId))
    const logged = () => linesOf(server).flatMap(({ requestId }) => (ids.has(`${requestId}`) ? [requestId] : []))
    await expect.poll(() => new Set(logged())).toEqual(ids)
    expect(logged()).toHaveLength(CONNECTIONS)
  })

  it('know a token that another one has given, and its revocation within a second', async () => {
    const bearer = { authorization: `Bearer ${await token(0)}` }
    const ask = () => clients.everybody(async (client) => (await clients.ask(client, '/Customer/Get', bearer)).status)
    expect(await ask()).toEqual(Array(CONNECTIONS).fill(200))
    expect((await runPrepared(['token', 'revoke', '--customer', id], { cwd })).status).toBe(0)
    await seenWithinASecond(ask, Array(CONNECTIONS).fill(401))
  })

  it('wake their followers for the deliveries of all of them', async () => {
    const bearer = { authorization: `Bearer ${await token(1)}` }
    const { body } = await clients.ask(0, '/Purchase/feed?limit=1000', bearer)
    const cursor = body.data.NextCursor as string
    const waiting = clients.everybody((client) =>
      clients.ask(client, `/Purchase/feed?wait=20&after=${encodeURIComponent(cursor)}`, bearer),
    )
    const followers = async () => (await scrape(server)).get('teslim_feed_followers')
    await expect.poll(followers, { timeout: 10_000 }).toBe(CONNECTIONS)
    const begun = performance.now()
    const other = connectClients(server.url)
    await other.ask(0, '/Purchase/update', { ApiKey: key }, '{"OrderID":"followed","Status":1}')
    const pages = await waiting
    other.leave()
    expect(performance.now() - begun).toBeLessThan(10_000)
    const seen = pages.map(({ body }) => (body.data.Deliveries as { OrderID: string }[]).map(({ OrderID }) => OrderID))
    expect(seen).toEqual(Array(CONNECTIONS).fill(['followed']))
  })

  it('allow an API key its limit once, not once for each of them', async () => {
    const { stdout } = await runPrepared(['key', 'issue', '--customer', id, '--rate', '20', '--json'], { cwd })
    const limited = { ApiKey: JSON.parse(stdout).key as string }
    const statuses = await clients.everybody(async (client) => {
      const { status } = await clients.ask(client, '/Purchase/update', limited, '{"Status":1}')
      return status
    })
    // A token is won back every three seconds.
    const allowed = statuses.filter((status) => status === 200).length
    expect(allowed).toBeGreaterThanOrEqual(20)
    expect(allowed).toBeLessThanOrEqual(22)
    expect(statuses.filter((status) => status === 429).length).toBe(CONNECTIONS - allowed)
  })

  it('keep other servers from their port and from their file', async () => {
    const port = new URL(server.url).port
    const second = serve({ cwd: tempFolder(), env: { ...THREADS, PORT: port } })
    await expect(second).rejects.toThrow(/ended with 1 .*the port is in use; set PORT to another one/s)
    await expect(serve({ cwd, env: THREADS })).rejects.toThrow(/is in use by process/)
  })
})

describe.skipIf(!isLinux)('a server of three threads', () => {
  it('that is told to stop answers what it has begun, and ends with 0', async () => {
    const { server, key, file } = await startThreads({ TESLIM_READY_DELAY: '1' })
    const load = deliver({ url: server.url, key, clients: 12 })
    await load.more(100)
    server.child.kill('SIGTERM')
    await server.printed(/\/readyz fails from now on/)
    const { ask, everybody, leave } = connectClients(server.url)
    const ready = await everybody(async (client) => (await ask(client, '/readyz')).status)
    expect(ready).toEqual(Array(CONNECTIONS).fill(503))
    leave()
    await server.printed(/stopping: no new connections/)
    await load.stop()
    expect(await server.ended).toBe(0)
    expect(load.acknowledged.length).toBeGreaterThan(100)
    // Connections are refused once it has ended, and none is answered with a fault before.
    expect([...load.others.keys()].filter((status) => status !== 0)).toEqual([])
    expect(missingFrom(file, load.acknowledged)).toEqual([])
    const requests = linesOf(server).filter(({ route, status }) => route === '/Purchase/update' && status === 200)
    expect(requests.length).toBe(load.acknowledged.length)
  })

  it('that is killed has stored what it answered', async () => {
    const { server, key, file } = await startThreads()
    const load = deliver({ url: server.url, key, clients: 12 })
    await load.more(200)
    server.child.kill('SIGKILL')
    await server.ended
    await load.stop()
    expect(missingFrom(file, load.acknowledged)).toEqual([])
  })

  it('that is told twice to stop, or told while they start, ends and has lost no line of the log', async () => {
    const { server, key } = await startThreads({ TESLIM_READY_DELAY: '30' })
    const load = deliver({ url: server.url, key, clients: 12 })
    await load.more(100)
    server.child.kill('SIGTERM')
    await server.printed(/\/readyz fails from now on/)
    await load.more(100)
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(1)
    await load.stop()
    const requests = linesOf(server).filter(({ route, status }) => route === '/Purchase/update' && status === 200)
    expect(requests.length).toBeGreaterThanOrEqual(load.acknowledged.length)

    const starting = await serve({ cwd: tempFolder(), env: { ...THREADS, NODE_ENV: 'development' } })
    starting.child.kill('SIGTERM')
    expect(await starting.ended).toBe(0)
    expect(starting.output()).not.toMatch(/threads take requests|teslim listens on/)
  })

  it('ends with 1 and says why when one of them dies', async () => {
    const dying = `
      import http from 'node:http'
      import { isMainThread } from 'node:worker_threads'
      const { emit } = http.Server.prototype
      http.Server.prototype.emit = function (event, request, ...rest) {
        if (event === 'request' && request.url === '/die' && !isMainThread) queueMicrotask(() => { throw new Error('on purpose') })
        return emit.call(this, event, request, ...rest)
      }`
    const cwd = tempFolder()
    await makeSupplier({ cwd })
    const node = ['--import', `data:text/javascript,${encodeURIComponent(dying)}`]
    const server = await serve({ cwd, env: THREADS, node })
    await server.printed(/3 threads take requests/)
    const { ask, everybody, leave } = connectClients(server.url)
    await everybody((client) => ask(client, '/die').catch(() => undefined))
    leave()
    expect(await server.ended).toBe(1)
    expect(server.output()).toMatch(
      /"reason":"on purpose","msg":"a thread that takes requests has died: this server ends"/,
    )
  })

  it('gives a renewed certificate in each of them', async () => {
    const folder = tempFolder()
    const files = storeCertificate(folder, makeCertificate({ serial: 1 }))
    const { server } = await startThreads(files)
    const serial = async (): Promise<string> => {
      const socket = connectTls({
        port: Number(new URL(server.url).port),
        host: '127.0.0.1',
        rejectUnauthorized: false,
      })
      await once(socket, 'secureConnect')
      const { serialNumber } = socket.getPeerCertificate()
      socket.destroy()
      return serialNumber
    }
    const serials = async () => new Set(await Promise.all(Array.from({ length: CONNECTIONS }, serial)))
    expect(await serials()).toEqual(new Set(['01']))
    storeCertificate(folder, makeCertificate({ serial: 2 }))
    server.child.kill('SIGHUP')
    await expect.poll(() => server.output().match(/"serialNumber":"02"/g)?.length).toBe(3)
    expect(await serials()).toEqual(new Set(['02']))
  })
})

it('more than one thread is refused with PostgreSQL, before anything is opened', async () => {
  const DATABASE_URL = 'postgres://teslim@127.0.0.1:1/teslim'
  const { status, stderr } = await runPrepared(['serve'], { cwd: tempFolder(), env: { ...THREADS, DATABASE_URL } })
  expect([status, stderr]).toEqual([
    2,
    expect.stringContaining(
      'TESLIM_HTTP_THREADS: more than 1 is not allowed with PostgreSQL, start more replicas instead',
    ),
  ])
})
