import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { connect as tlsConnect } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { failure } from '../support/app/failure.ts'
import { parseAnswers } from '../support/app/raw-http.ts'
import { makeCertificate, storeCertificate } from '../support/network/certificate.ts'
import { keyOfSupplier } from '../support/processes/ledger.ts'
import { type ServerProcess, serve } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const env = { NODE_ENV: 'test' }
const LIVE = 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n'

const delivery = (key: string, order: string): string => {
  const body = `{"OrderID":"${order}","Status":1}`
  return `POST /Purchase/update HTTP/1.1\r\nHost: a\r\nApiKey: ${key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

function open({ url }: ServerProcess): Socket {
  const options = { port: Number(new URL(url).port), allowHalfOpen: true }
  return url.startsWith('https') ? tlsConnect({ ...options, rejectUnauthorized: false }) : connect(options)
}

/** A connection that has had an answer and is kept, as proxies keep them. `rest` is everything that comes after. */
async function keptConnection(server: ServerProcess) {
  const socket = open(server)
  socket.write(LIVE)
  const [first] = (await once(socket, 'data')) as [Buffer]
  expect(String(first)).toMatch(/connection: keep-alive/i)
  return { socket, rest: everythingFrom(socket) }
}

/** Until the server ends its side; ours stays open, which `text` of node:stream/consumers would close. */
function everythingFrom(socket: Socket): Promise<string> {
  let bytes = ''
  socket.on('data', (chunk) => {
    bytes += chunk
  })
  return new Promise((resolve, reject) => socket.on('end', () => resolve(bytes)).on('error', reject))
}

async function stopping(server: ServerProcess): Promise<void> {
  server.child.kill('SIGTERM')
  await server.printed(/stopping/)
}

/** Milliseconds that the stop took, by the times in the log. */
function stopDuration(server: ServerProcess): number {
  const [from = Number.NaN, to = Number.NaN] = ['stopping', 'stopped'].map((word) => {
    const [, time = ''] = new RegExp(`"time":"([^"]+)"[^\\n]*"msg":"${word}`).exec(server.output()) ?? []
    return Date.parse(time)
  })
  return to - from
}

/** The orders whose deliveries are stored, in their order. */
const stored = (cwd: string): unknown[] => {
  const database = new DatabaseSync(join(cwd, 'data/teslim.db'))
  const rows = database.prepare('SELECT order_id FROM delivery ORDER BY position').all()
  database.close()
  return rows.map(({ order_id }) => order_id)
}

/** One stop with connections in every state. Each client ends its side when the server has, except `stubborn`. */
async function stopWithConnections() {
  const cwd = tempFolder()
  const key = await keyOfSupplier({ cwd, env })
  const server = await serve({ cwd, env: { ...env, TESLIM_SHUTDOWN_SECONDS: '600' } })
  const kept = () => keptConnection(server)
  const [delivers, asks, quiet, half, late, stubborn] = await Promise.all([
    kept(),
    kept(),
    kept(),
    kept(),
    kept(),
    kept(),
  ])
  const unused = open(server)
  const unusedRest = everythingFrom(unused)
  await once(unused, 'connect')
  await stopping(server)
  delivers.socket.write(delivery(key, 'in-time'))
  asks.socket.write(LIVE.replace('livez', 'readyz'))
  half.socket.write(LIVE.slice(0, 20))
  const nothing = [await quiet.rest, await unusedRest, await late.rest, await stubborn.rest]
  late.socket.write(delivery(key, 'too-late'))
  // Its bytes came a moment after the others fell quiet: it must outlast them by more than that.
  const since = performance.now()
  await until('the half request has outlasted them', () => performance.now() > since + 300)
  half.socket.write(LIVE.slice(20))
  const [delivered, readiness, finished] = (await Promise.all([delivers.rest, asks.rest, half.rest])).map(parseAnswers)
  for (const { socket } of [delivers, asks, quiet, half]) socket.end()
  unused.end()
  const status = await server.ended
  return { delivered, readiness, finished, nothing, status, milliseconds: stopDuration(server), orders: stored(cwd) }
}

describe('a stop with connections in every state', async () => {
  const { delivered, readiness, finished, nothing, status, milliseconds, orders } = await stopWithConnections()

  it('answers a delivery that comes on a kept connection after SIGTERM, and says that the connection ends', () => {
    expect(delivered).toMatchObject([
      { status: 200, head: expect.stringContaining('connection: close'), body: { success: true } },
    ])
    expect(orders).toContain('in-time')
  })

  it('fails /readyz on a kept connection as soon as it begins, without a delay', () => {
    expect(readiness).toMatchObject([{ status: 503, body: failure('STOPPING') }])
  })

  it('ends kept and unused connections on which nothing comes without a reset, and takes a second or so for it', () => {
    expect(nothing).toEqual(['', '', '', ''])
    expect(milliseconds).toBeGreaterThanOrEqual(900)
  })

  it('is not held up by a client that never ends its side of a connection', () => expect(status).toBe(0))

  it('does not work on a delivery that comes after its connection was ended', () => {
    expect(orders).not.toContain('too-late')
  })

  it('still answers a request that was half sent when the others ended', () => {
    expect(finished).toMatchObject([{ status: 200, head: expect.stringContaining('connection: close') }])
  })
})

/** Connections of clients that never end their side, as those do not that look at a connection only to send a request. */
async function stopWithUnwatched(more: Record<string, string> = {}) {
  const server = await serve({ cwd: tempFolder(), env: { ...env, ...more, TESLIM_SHUTDOWN_SECONDS: '600' } })
  const unused = open(server)
  const inHandshake = connect(Number(new URL(server.url).port))
  await Promise.all([once(unused, more.TESLIM_TLS_CERT ? 'secureConnect' : 'connect'), once(inHandshake, 'connect')])
  const [used, refused, half] = await Promise.all([
    keptConnection(server),
    keptConnection(server),
    keptConnection(server),
  ])
  refused.socket.write('POST /Purchase/update HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf')
  half.socket.write(LIVE.slice(0, 20))
  await once(refused.socket, 'data')
  await stopping(server)
  const rests = [everythingFrom(unused), used.rest, refused.rest, everythingFrom(inHandshake)]
  const [nothing, alsoNothing, refusal] = await Promise.all(rests)
  half.socket.write(LIVE.slice(20))
  const finished = parseAnswers(await half.rest)
  const status = await server.ended
  return { nothing: [nothing, alsoNothing], refusal, finished, status, milliseconds: stopDuration(server) }
}

describe.each(['HTTP', 'HTTPS'])('a stop with %s connections that their clients do not watch', async (protocol) => {
  const more = protocol === 'HTTPS' ? storeCertificate(tempFolder(), makeCertificate()) : {}
  const { nothing, refusal, finished, status, milliseconds } = await stopWithUnwatched(more)

  it('takes a second or so, and not until they end their side: unused, kept, refused or in a handshake', () => {
    expect([status, nothing]).toEqual([0, ['', '']])
    expect(refusal).toMatch(/^HTTP\/1\.1 401 /)
    expect(milliseconds).toBeGreaterThanOrEqual(900)
    expect(milliseconds).toBeLessThan(2900)
  })

  it('answers a request that was half sent before it began', () => {
    expect(finished).toMatchObject([{ status: 200, head: expect.stringContaining('connection: close') }])
  })
})

const statusAndBody = async (url: string) => {
  const answer = await fetch(url)
  return [answer.status, await answer.json()]
}

it('with TESLIM_READY_DELAY, /readyz fails first after SIGTERM, and everything else works until the delay is over', async () => {
  const cwd = tempFolder()
  const key = await keyOfSupplier({ cwd, env })
  const server = await serve({ cwd, env: { ...env, TESLIM_READY_DELAY: '3', TESLIM_SHUTDOWN_SECONDS: '600' } })
  const { url } = server
  expect(await statusAndBody(`${url}/readyz`)).toMatchObject([200, { success: true }])
  const { socket, rest } = await keptConnection(server)
  server.child.kill('SIGTERM')
  await server.printed(/readyz fails from now on; stopping in 3 s/)
  // Each of these is a new connection.
  expect(await statusAndBody(`${url}/readyz`)).toEqual([503, failure('STOPPING')])
  expect((await fetch(`${url}/livez`)).status).toBe(200)
  const init = { method: 'POST', headers: { ApiKey: key }, body: '{"OrderID":"PO-2","Status":1}' }
  const taken = await fetch(`${url}/Purchase/update`, init)
  expect([taken.status, taken.headers.get('connection')]).toEqual([200, 'keep-alive'])
  socket.write(delivery(key, 'PO-1'))
  await server.printed(/"reason":"SIGTERM","msg":"stopping: no new connections/)
  // Only now does a kept connection end.
  expect(parseAnswers(await rest)).toMatchObject([
    { status: 200, head: expect.stringContaining('connection: keep-alive') },
  ])
  socket.end()
  expect(await server.ended).toBe(0)
  expect(stored(cwd)).toEqual(['PO-2', 'PO-1'])
})

it('a delay before the stop holds up neither Ctrl+C, whose stop takes no time without a connection, nor a second SIGTERM or the loss of the store', async () => {
  const delayed = { ...env, TESLIM_READY_DELAY: '600' }
  const cwd = tempFolder()
  await keyOfSupplier({ cwd, env })
  const interrupted = await serve({ cwd, env: delayed })
  interrupted.child.kill('SIGINT')
  expect(await interrupted.ended).toBe(0)
  expect(stopDuration(interrupted)).toBeLessThan(900)
  const impatient = await serve({ cwd, env: delayed })
  impatient.child.kill('SIGTERM')
  await impatient.printed(/stopping in 600 s/)
  impatient.child.kill('SIGTERM')
  expect(await impatient.ended).toBe(1)
  const lost = await serve({ cwd, env: delayed })
  lost.child.kill('SIGTERM')
  await lost.printed(/stopping in 600 s/)
  renameSync(join(cwd, 'data'), join(cwd, 'elsewhere'))
  expect(await lost.ended).toBe(1)
})
