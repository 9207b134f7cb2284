import type { Socket } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Sender } from '#src/webhook/send/sender.ts'
import { allowedAt } from '../../support/network/allowed-ports.ts'
import { randomBelow } from '../../support/random.ts'
import { until } from '../../support/until.ts'
import { answerRaw, receive, sender, sending } from './receiver.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const CUT = 'the connection was closed before the answer was complete'

/** Destroys a connection after some turns of the event loop. */
const destroyAfter = (socket: Socket, turns: number): void => {
  setImmediate(() => (turns === 0 ? socket.destroy() : destroyAfter(socket, turns - 1)))
}

/** Answers requests by their number on their connection, and all connections by their number. */
async function scripted(answer: (socket: Socket, request: number, connection: number) => void) {
  const counts = new Map<Socket, { requests: number; connection: number }>()
  const { port, connections, sockets } = await answerRaw((socket) => {
    const count = counts.get(socket) ?? { requests: 0, connection: counts.size + 1 }
    count.requests += 1
    counts.set(socket, count)
    answer(socket, count.requests, count.connection)
  })
  return { url: `http://127.0.0.1:${port}/`, connections, sockets }
}

describe('a kept connection', () => {
  it.each([
    ['destroys it', (socket: Socket) => socket.destroy()],
    ['ends it', (socket: Socket) => socket.end()],
    ['resets it', (socket: Socket) => socket.resetAndDestroy()],
  ])('that the server closes when the next request comes (%s) is no failure', async (_how, closeIt) => {
    const { url, connections } = await scripted((socket, request, connection) => {
      if (request === 1 || connection > 1) socket.write(OK)
      else closeIt(socket)
    })
    const client = sender()
    expect(await client.send(sending(url))).toMatchObject({ status: 200 })
    expect(await client.send(sending(url))).toMatchObject({ status: 200, error: null })
    expect(connections()).toBe(2)
  })

  it('is replaced by a new one once: if that one is closed, too, the attempt has failed', async () => {
    const { url, connections } = await scripted((socket, request, connection) => {
      if (request === 1 && connection === 1) socket.write(OK)
      else socket.destroy()
    })
    const client = sender()
    expect(await client.send(sending(url))).toMatchObject({ status: 200 })
    expect(await client.send(sending(url))).toMatchObject({ status: null, error: CUT })
    expect(connections()).toBe(2)
  })

  it('is replaced by a new one even if others are kept', async () => {
    const { url, connections } = await scripted((socket, request, connection) => {
      if (request === 1 || connection > 3) socket.write(OK)
      else socket.destroy()
    })
    const client = sender()
    await Promise.all([1, 2, 3].map(() => client.send(sending(url))))
    expect(connections()).toBe(3)
    expect(await client.send(sending(url))).toMatchObject({ status: 200 })
    expect(connections()).toBe(4)
  })

  it('is replaced by a new one before others that wait get one, so nothing is sent more than twice', async () => {
    const times = new Map<string, number>()
    const counts = new Map<Socket, number>()
    const { port } = await answerRaw((socket, data) => {
      const [, id = ''] = /webhook-id: (\w+)/.exec(data) ?? []
      times.set(id, (times.get(id) ?? 0) + 1)
      counts.set(socket, (counts.get(socket) ?? 0) + 1)
      if (counts.get(socket) === 1) socket.write(OK)
      else socket.destroy()
    })
    const client = sender()
    const attempts = Array.from({ length: 300 }, (_, index) =>
      client.send(sending(`http://127.0.0.1:${port}/`, { headers: { 'webhook-id': `msg${index}` } })),
    )
    const errors = (await Promise.all(attempts)).map(({ error }) => error)
    expect(errors.filter((error) => error !== null)).toEqual([])
    expect(Math.max(...times.values())).toBe(2)
  })

  it('that ends within an answer is a failure, and so is a new one that ends before it', async () => {
    const { url, connections } = await scripted((socket, request, connection) => {
      if (connection > 1) socket.destroy()
      else if (request === 1) socket.write(OK)
      else socket.end('HTTP/1.1 200 OK\r\n')
    })
    const client = sender()
    expect(await client.send(sending(url))).toMatchObject({ status: 200 })
    expect(await client.send(sending(url))).toMatchObject({ status: null, error: CUT })
    expect(connections()).toBe(1)
    expect(await client.send(sending(url))).toMatchObject({ status: null, error: CUT })
    expect(connections()).toBe(2)
  })

  it('is not used again after Connection: close, after a timeout and after an answer that was not read to its end', async () => {
    const { url, connections } = await scripted((socket, _request, connection) => {
      if (connection === 1) socket.write(OK.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
      if (connection === 3) socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n${'x'.repeat(200_000)}`)
      if (connection === 4) socket.write(OK)
    })
    const client = sender({ timeoutMilliseconds: 1000 })
    const statuses: unknown[] = []
    for (let i = 0; i < 4; i += 1) statuses.push((await client.send(sending(url))).status)
    expect(statuses).toEqual([200, null, 200, 200])
    expect(connections()).toBe(4)
  })

  it('whose server closes it at any moment after an answer costs no delivery', async () => {
    const { url } = await scripted((socket) => {
      socket.write(OK)
      const chance = randomBelow(5)
      if (chance === 0) socket.end()
      if (chance === 1) setImmediate(() => socket.end())
      if (chance === 2) destroyAfter(socket, randomBelow(30))
    })
    const client = sender()
    const errors: unknown[] = []
    const one = async (): Promise<void> => {
      for (let i = 0; i < 60; i += 1) errors.push((await client.send(sending(url))).error)
    }
    await Promise.all(Array.from({ length: 16 }, one))
    expect(errors.filter((error) => error !== null)).toEqual([])
  })

  it('on which the server sends an answer that nobody asked for is not used again', async () => {
    const { url, connections, sockets } = await scripted((socket) => {
      socket.write(OK)
      setImmediate(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged'))
    })
    const client = sender()
    expect(await client.send(sending(url))).toMatchObject({ response: 'ok' })
    await until('the connection is closed', () => sockets.size === 0)
    expect(await client.send(sending(url))).toMatchObject({ response: 'ok' })
    expect(connections()).toBe(2)
  })
})

it('a connection that is idle for 30 s is closed, and the next attempt opens a new one', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  let now = 0
  const { port, connections, sockets } = await receive()
  const client = sender({ clock: { now: () => now, monotonic: () => now } })
  const url = `http://127.0.0.1:${port}/`
  expect(await client.send(sending(url))).toMatchObject({ status: 200 })
  now = 29_999
  vi.advanceTimersByTime(10_000)
  expect(await client.send(sending(url))).toMatchObject({ status: 200 })
  expect([connections(), vi.getTimerCount()]).toEqual([1, 1])
  now += 30_000
  vi.advanceTimersByTime(10_000)
  await until('the connection is closed', () => sockets.size === 0)
  expect(vi.getTimerCount()).toBe(0)
  expect(await client.send(sending(url))).toMatchObject({ status: 200 })
  expect([connections(), vi.getTimerCount()]).toEqual([2, 1])
})

describe('connections to one endpoint', () => {
  it('are 32 at most; further attempts wait for one', async () => {
    const { promise: full, resolve: release } = Promise.withResolvers<void>()
    let open = 0
    let most = 0
    const { port, connections } = await receive(async (_request, response) => {
      open += 1
      most = Math.max(most, open)
      if (open === 32) release()
      await full
      open -= 1
      response.end('ok')
    })
    const client = sender()
    const url = `http://127.0.0.1:${port}/`
    const outcomes = await Promise.all(Array.from({ length: 500 }, () => client.send(sending(url))))
    expect(outcomes.filter(({ status }) => status !== 200)).toEqual([])
    expect([connections(), most]).toEqual([32, 32])
  })

  it('are 32 at most for 1,000 attempts that hang, and all are closed in the end', async () => {
    const { port, sockets, received, connections } = await receive(() => undefined)
    const url = `http://127.0.0.1:${port}/`
    const hang = (client: Sender) => Promise.all(Array.from({ length: 1000 }, () => client.send(sending(url))))
    const patient = sender()
    const stopped = hang(patient)
    await until('32 have arrived', () => received.length >= 32)
    expect([received.length, sockets.size, connections()]).toEqual([32, 32, 32])
    await patient.close()
    expect(new Set((await stopped).map(({ error }) => error))).toEqual(new Set(['the service is stopping']))
    await until('all are closed', () => sockets.size === 0)

    const late = await hang(sender({ timeoutMilliseconds: 1000 }))
    expect(new Set(late.map(({ error }) => error))).toEqual(new Set(['no answer within 1 s']))
    await until('all are closed', () => sockets.size === 0)
  })

  it('are closed by close while they hang, connect, wait and idle', async () => {
    const { port, sockets, received } = await receive((request, response) => {
      if (request.url === '/idle') response.end('ok')
    })
    const client = sender({ resolve: () => new Promise(() => undefined), allow: allowedAt('127.0.0.1') })
    const base = `http://127.0.0.1:${port}`
    expect(await client.send(sending(`${base}/idle`))).toMatchObject({ status: 200 })
    const attempts = Array.from({ length: 200 }, () => client.send(sending(`${base}/hang`)))
    attempts.push(client.send(sending('https://never.example/')))
    await until('32 hang', () => received.length === 33)
    await client.close()
    for (const { error } of await Promise.all(attempts)) expect(error).toBe('the service is stopping')
    await until('all are closed', () => sockets.size === 0)
    await client.close()
  })

  it('that hang do not keep those of another endpoint waiting', async () => {
    const { port } = await receive((request, response) => {
      if (request.url !== '/hang') response.end('ok')
    })
    const client = sender()
    const hanging = Array.from({ length: 100 }, () => client.send(sending(`http://127.0.0.1:${port}/hang`)))
    expect(await client.send(sending(`http://127.0.0.1:${port}/other`))).toMatchObject({ status: 200 })
    await client.close()
    await Promise.all(hanging)
  })
})
