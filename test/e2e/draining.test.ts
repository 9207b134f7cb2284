import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { fetch } from '../support/checked-fetch.ts'
import { failure } from '../support/failure.ts'
import { addSupplier } from '../support/ledger.ts'
import { type ServerProcess, serve } from '../support/process.ts'
import { parseAnswers } from '../support/raw-http.ts'
import { tempFolder } from '../support/temp-folder.ts'

const LIVE = 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n'

const delivery = (key: string): string => {
  const body = '{"OrderID":"PO-1","Status":1}'
  return `POST /Purchase/update HTTP/1.1\r\nHost: a\r\nApiKey: ${key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

const open = ({ url }: ServerProcess): Socket => connect({ port: Number(new URL(url).port), allowHalfOpen: true })

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

const stored = (cwd: string): number => {
  const database = new DatabaseSync(join(cwd, 'data/teslim.db'))
  const [row] = database.prepare('SELECT count(*) AS n FROM delivery').all()
  database.close()
  return Number(row?.n)
}

it('a delivery that comes on a kept connection after SIGTERM is answered, and told that the connection ends', async () => {
  const cwd = tempFolder()
  const key = await addSupplier({ cwd })
  const server = await serve({ cwd })
  const { socket, rest } = await keptConnection(server)
  await stopping(server)
  socket.write(delivery(key))
  expect(parseAnswers(await rest)).toMatchObject([
    { status: 200, head: expect.stringContaining('connection: close'), body: { success: true } },
  ])
  socket.end()
  expect(await server.ended).toBe(0)
  expect(stored(cwd)).toBe(1)
})

it('a kept connection on which nothing comes ends without a reset, and holds the stop up for a second or so', async () => {
  const server = await serve({ cwd: tempFolder(), env: { TESLIM_SHUTDOWN_SECONDS: '600' } })
  const { socket, rest } = await keptConnection(server)
  const unused = open(server)
  const nothing = everythingFrom(unused)
  await once(unused, 'connect')
  await stopping(server)
  expect([await rest, await nothing]).toEqual(['', ''])
  socket.end()
  unused.end()
  expect(await server.ended).toBe(0)
  expect(stopDuration(server)).toBeGreaterThanOrEqual(900)
})

it('a client that never ends its side of a connection does not hold the stop up', async () => {
  const server = await serve({ cwd: tempFolder(), env: { TESLIM_SHUTDOWN_SECONDS: '600' } })
  const { rest } = await keptConnection(server)
  await stopping(server)
  expect(await server.ended).toBe(0)
  expect(await rest).toBe('')
})

it('a delivery that comes after its connection was ended is not worked on', async () => {
  const cwd = tempFolder()
  const key = await addSupplier({ cwd })
  const server = await serve({ cwd })
  const { socket, rest } = await keptConnection(server)
  await stopping(server)
  expect(await rest).toBe('')
  socket.write(delivery(key))
  expect(await server.ended).toBe(0)
  expect(stored(cwd)).toBe(0)
})

it('a request that was half sent when the others ended is still answered', async () => {
  const server = await serve({ cwd: tempFolder() })
  const quiet = await keptConnection(server)
  const half = await keptConnection(server)
  await stopping(server)
  half.socket.write(LIVE.slice(0, 20))
  expect(await quiet.rest).toBe('')
  quiet.socket.end()
  half.socket.write(LIVE.slice(20))
  expect(parseAnswers(await half.rest)).toMatchObject([
    { status: 200, head: expect.stringContaining('connection: close') },
  ])
  half.socket.end()
  expect(await server.ended).toBe(0)
})

it('without a connection the stop takes no time', async () => {
  const server = await serve({ cwd: tempFolder() })
  await stopping(server)
  expect(await server.ended).toBe(0)
  expect(stopDuration(server)).toBeLessThan(900)
})

const statusAndBody = async (url: string) => {
  const answer = await fetch(url)
  return [answer.status, await answer.json()]
}

it('with TESLIM_READY_DELAY, /readyz fails first after SIGTERM, and everything else works until the delay is over', async () => {
  const cwd = tempFolder()
  const key = await addSupplier({ cwd })
  const server = await serve({ cwd, env: { TESLIM_READY_DELAY: '1', TESLIM_SHUTDOWN_SECONDS: '600' } })
  const { url } = server
  expect(await statusAndBody(`${url}/readyz`)).toMatchObject([200, { success: true }])
  const { socket, rest } = await keptConnection(server)
  server.child.kill('SIGTERM')
  await server.printed(/readyz fails from now on; stopping in 1 s/)
  // Each of these is a new connection.
  expect(await statusAndBody(`${url}/readyz`)).toEqual([503, failure('STOPPING')])
  expect((await fetch(`${url}/livez`)).status).toBe(200)
  const init = { method: 'POST', headers: { ApiKey: key }, body: '{"OrderID":"PO-2","Status":1}' }
  const taken = await fetch(`${url}/Purchase/update`, init)
  expect([taken.status, taken.headers.get('connection')]).toEqual([200, 'keep-alive'])
  socket.write(delivery(key))
  await server.printed(/"reason":"SIGTERM","msg":"stopping: no new connections/)
  // Only now does a kept connection end.
  expect(parseAnswers(await rest)).toMatchObject([
    { status: 200, head: expect.stringContaining('connection: keep-alive') },
  ])
  socket.end()
  expect(await server.ended).toBe(0)
  expect(stored(cwd)).toBe(2)
})

it('a delay before the stop does not hold up Ctrl+C, a second SIGTERM, or a store that is lost', async () => {
  const env = { TESLIM_READY_DELAY: '600' }
  const interrupted = await serve({ cwd: tempFolder(), env })
  interrupted.child.kill('SIGINT')
  expect(await interrupted.ended).toBe(0)
  const impatient = await serve({ cwd: tempFolder(), env })
  impatient.child.kill('SIGTERM')
  await impatient.printed(/stopping in 600 s/)
  impatient.child.kill('SIGTERM')
  expect(await impatient.ended).toBe(1)
  const cwd = tempFolder()
  const lost = await serve({ cwd, env })
  lost.child.kill('SIGTERM')
  await lost.printed(/stopping in 600 s/)
  renameSync(join(cwd, 'data'), join(cwd, 'elsewhere'))
  expect(await lost.ended).toBe(1)
})

it('without a delay /readyz on a kept connection fails as soon as the stop begins', async () => {
  const server = await serve({ cwd: tempFolder() })
  const { socket, rest } = await keptConnection(server)
  await stopping(server)
  socket.write(LIVE.replace('livez', 'readyz'))
  expect(parseAnswers(await rest)).toMatchObject([{ status: 503, body: failure('STOPPING') }])
  socket.end()
  expect(await server.ended).toBe(0)
})
