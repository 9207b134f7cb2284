import { once } from 'node:events'
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import {
  answerUnderWay,
  carrierOf,
  insteadOfClosingIdle,
  lingerAtEnd,
  lingerBeforeDestroy,
  stopReadingWhenPaused,
  withoutRequest,
} from '#src/http/connections/node-internals.ts'
import { makeCertificate } from '../support/network/certificate.ts'
import { until } from '../support/until.ts'

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
const POST = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n'

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

/** A plain server of Node, and clients that have sent some bytes to it. */
async function serving(listener: RequestListener = () => undefined) {
  const server = createServer(listener)
  const port = await listening(server)
  const client = async (bytes: string) => {
    const accepted = once(server, 'connection') as Promise<[Socket]>
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => undefined).write(bytes)
    const [ours] = await accepted
    await until('the bytes have come', () => ours.bytesRead >= bytes.length)
    return { socket, ours }
  }
  return { server, client }
}

it('the answer under way is known from the head of its request to its own end', async () => {
  const answers: ServerResponse[] = []
  const { client } = await serving((request, response) => {
    request.resume()
    answers.push(response)
  })
  const { socket, ours } = await client(POST)
  await until('there is a request', () => answers.length === 1)
  expect(answerUnderWay(ours)).toBe(answers[0])
  socket.write('x'.repeat(1_000_000))
  await until('the request is complete', () => ours.bytesRead > 1_000_000)
  expect(answerUnderWay(ours)).toBe(answers[0])
  answers[0]?.end()
  await until('it is answered', () => answerUnderWay(ours) === null)
})

it('connections without a request are those that are idle or were answered early, and none with half of a request', async () => {
  const { server, client } = await serving((request, response) => {
    if (request.method === 'GET') response.end()
  })
  const fresh = await client('')
  const idle = await client(GET)
  const halfHead = await client('GET / HTTP/1.1\r\n')
  const halfBody = await client(POST)
  await until('one is answered', () => answerUnderWay(idle.ours) === null && answerUnderWay(halfBody.ours) !== null)
  const found = () => new Set(withoutRequest(server))
  expect(found()).toEqual(new Set([fresh.ours, idle.ours]))
  halfBody.ours.on('error', () => undefined)
  answerUnderWay(halfBody.ours)?.writeHead(400).end()
  await until('the half is answered', () => found().has(halfBody.ours))
  expect(found().has(halfHead.ours)).toBe(false)
})

it('a server that closes does not end its idle connections by itself', async () => {
  const { server, client } = await serving((_request, response) => void response.end())
  const { ours } = await client(GET)
  let asked = 0
  insteadOfClosingIdle(server, () => {
    asked++
  })
  server.close()
  expect([asked, ours.destroyed, ours.writableEnded]).toEqual([1, false, false])
})

it('a paused body stops its connection with the first piece', async () => {
  const bytesRead = async (stops: boolean): Promise<number> => {
    const { promise, resolve } = Promise.withResolvers<Socket>()
    const { client } = await serving((request) => {
      if (stops) stopReadingWhenPaused(request)
      request.pause()
      resolve(request.socket)
    })
    const { socket } = await client(POST)
    const ours = await promise
    for (let piece = 0; piece < 200; piece++) {
      socket.write('x')
      await new Promise(setImmediate)
    }
    return ours.bytesRead - POST.length
  }
  expect(await bytesRead(true)).toBeLessThan(5)
  expect(await bytesRead(false)).toBe(200)
})

it('a connection that was ended lives until its client closes it, or the time is over', async () => {
  const { client } = await serving()
  const ended = async (milliseconds?: number) => {
    const { socket, ours } = await client('')
    // Unread bytes of the client would reset the connection.
    ours.on('error', () => undefined)
    // Node does so after an answer with `Connection: close`.
    ours.destroySoon()
    lingerBeforeDestroy(ours, milliseconds)
    await once(ours, 'finish')
    return { socket, ours }
  }
  const { socket, ours } = await ended()
  expect(ours.destroyed).toBe(false)
  socket.end()
  await once(ours, 'close')
  const short = await ended(1)
  await once(short.ours, 'close')
})

it('an answer that ends its connection while the client still sends arrives whole', async () => {
  const { client } = await serving((request, response) => {
    lingerAtEnd(request.socket)
    response.writeHead(413, { connection: 'close' }).end('too much')
    request.resume()
  })
  const { socket, ours } = await client(`${POST}x`)
  const sending = setInterval(() => socket.write('x'.repeat(1000)), 1)
  let text = ''
  for await (const piece of socket) text += piece
  clearInterval(sending)
  expect(text).toMatch(/413 [\s\S]*too much/)
  expect(ours.destroyed).toBe(false)
})

it('a TLS connection has the carrier that the server accepted', async () => {
  const { certificate, key } = makeCertificate()
  const server = createTlsServer({ cert: certificate, key })
  const port = await listening(server as unknown as Server)
  const carrier = once(server, 'connection')
  const secure = once(server, 'secureConnection')
  const client = tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  onTestFinished(() => void client.destroy())
  const [[accepted], [socket]] = await Promise.all([carrier, secure])
  expect(carrierOf(socket)).toBe(accepted)
})
