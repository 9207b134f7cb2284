import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import Fastify, { LogController } from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type BodyPool, createPool } from '#src/http/body/budget.ts'
import { cutUnread } from '#src/http/connections/unread.ts'
import { createEventStreams, eventBytes } from '#src/http/event-streams.ts'
import { systemClock } from '#src/lib/clock.ts'

type EventStream = ReturnType<ReturnType<typeof createEventStreams>['open']>

const NEVER = 3_600_000
const MEGABYTE = 1024 * 1024
const EVENT = { id: 'x', data: 'y'.repeat(64 * 1024) }

interface Patience {
  readonly heartbeat?: number
  readonly slowestReader?: number
  readonly pool?: BodyPool
}

const newPool = (bytes = MEGABYTE) => createPool(bytes, systemClock)

/** A stream to a reader on a real connection. */
async function openStream({ heartbeat = NEVER, slowestReader = NEVER, pool = newPool() }: Patience = {}) {
  const streams = createEventStreams(pool, heartbeat)
  // Production does the same: Fastify then does not listen for errors of an answer.
  const app = Fastify({ logController: new LogController({ disableRequestLogging: true }) })
  cutUnread(app, systemClock, slowestReader, Number.POSITIVE_INFINITY)
  const { promise, resolve } = Promise.withResolvers<{ stream: EventStream; response: ServerResponse }>()
  app.get('/', (request, reply) => {
    request.address = '192.0.2.1'
    resolve({ stream: streams.open(reply), response: reply.raw })
  })
  await app.listen({ port: 0 })
  const reader: Socket = connect((app.server.address() as AddressInfo).port)
  reader.on('error', () => undefined)
  onTestFinished(async () => {
    reader.destroy()
    streams.close()
    await app.close()
  })
  reader.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  return { streams, reader, ...(await promise) }
}

/** Sends until it is told to wait; resolves to how many events were taken, and the one that waits. */
async function fill(stream: EventStream) {
  for (let taken = 1; ; taken++) {
    const sending = stream.send([EVENT])
    const state = await Promise.race([sending, new Promise((resolve) => setImmediate(resolve, 'waits'))])
    if (state === 'waits') return { taken, sending }
  }
}

describe('an event stream', () => {
  it('pauses for a reader that reads nothing, goes on when it reads again, and buffers little meanwhile', async () => {
    const { reader, stream } = await openStream()
    reader.pause()
    const { taken, sending } = await fill(stream)
    // What the sockets of both sides take; far less than a feed has.
    expect(taken).toBeLessThan(500)
    let bytes = 0
    reader.on('data', (chunk) => {
      bytes += chunk.length
    })
    reader.resume()
    expect(await sending).toBe(true)
    await expect.poll(() => bytes).toBeGreaterThan(taken * EVENT.data.length)
  })

  it('that ended while its reader reads nothing survives the next heartbeat, and is cut off', async () => {
    const { reader, stream, response } = await openStream({ heartbeat: 20, slowestReader: 200 })
    reader.pause()
    const small = { id: 'x', data: 'y'.repeat(1000) }
    // Until some wait in the process, and fewer than would hold the sender up.
    for (let stuck = 0; stuck < 20; ) {
      if (response.writableLength === 0) expect(await stream.send([small])).toBe(true)
      // What still waits after so many turns of the event loop is what the system does not take.
      await new Promise((resolve) => setImmediate(resolve))
      stuck = response.writableLength === 0 ? 0 : stuck + 1
    }
    stream.end()
    expect(response.writableFinished).toBe(false)
    await expect.poll(() => stream.gone.aborted).toBe(true)
    expect(await stream.send([small])).toBe(false)
  })

  it('cuts off a reader that reads nothing for too long', async () => {
    const { reader, stream } = await openStream({ slowestReader: 50 })
    reader.pause()
    const { sending } = await fill(stream)
    expect(await sending).toBe(false)
    await expect.poll(() => stream.gone.aborted).toBe(true)
    expect(await stream.send([EVENT])).toBe(false)
  })

  it('does not wait for a reader of shared bytes, holds few of them, and takes more once it reads again', async () => {
    const { reader, stream } = await openStream()
    reader.pause()
    const bytes = eventBytes(EVENT)
    let taken = 0
    for (let refused = 0; refused < 20; ) {
      if (stream.offer(bytes)) {
        taken++
        refused = 0
      } else refused++
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(taken).toBeLessThan(500)
    let read = 0
    reader.on('data', (chunk) => {
      read += chunk.length
    })
    reader.resume()
    await expect.poll(() => stream.offer(bytes)).toBe(true)
    await expect.poll(() => read).toBeGreaterThan(taken * EVENT.data.length)
  })

  it('cuts off a reader that takes no shared bytes for too long', async () => {
    const { reader, stream } = await openStream({ slowestReader: 50 })
    reader.pause()
    const bytes = eventBytes(EVENT)
    await expect.poll(() => stream.offer(bytes) || stream.gone.aborted, { interval: 0 }).toBe(false)
    await expect.poll(() => stream.gone.aborted).toBe(true)
    expect(stream.offer(bytes)).toBe(false)
  })

  it('takes room for large events until they are sent, and another reader waits for it', async () => {
    const pool = newPool()
    const [one, other] = [await openStream({ pool }), await openStream({ pool })]
    one.reader.pause()
    expect(one.stream.tryReserve(400_000)).toBe(true)
    const { sending } = await fill(one.stream)
    expect(one.stream.tryReserve(400_000)).toBe(true)
    expect(other.stream.tryReserve(60_000)).toBe(true)
    expect(other.stream.tryReserve(400_000)).toBe(false)
    const waiting = other.stream.reserve(400_000)
    one.reader.destroy()
    await waiting
    expect(await sending).toBe(false)
    expect(pool.canReserve('192.0.2.1', 400_000)).toBe(false)
    await other.stream.send([EVENT])
    expect(pool.available('anybody') === pool.limit).toBe(true)
  })

  it('leaves the id of the event before in place if an event has none', async () => {
    expect(Buffer.from(eventBytes({ data: 'a\nb' })).toString()).toBe('data: a\ndata: b\n\n')
  })

  it('sends heartbeats while there are no events', async () => {
    const { reader } = await openStream({ heartbeat: 5 })
    let text = ''
    reader.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    await expect.poll(() => text.match(/^:$/gm)?.length).toBeGreaterThan(2)
  })

  it('tells when its reader disconnects', async () => {
    const { reader, stream } = await openStream()
    reader.destroy()
    await once(stream.gone, 'abort')
    expect(await stream.send([EVENT])).toBe(false)
  })

  it('that is opened after the others were ended ends at once, so that its reader reconnects elsewhere', async () => {
    const { reader, streams } = await openStream()
    streams.close()
    let text = ''
    reader.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    reader.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    // The end of a chunked answer, of this one too.
    await expect.poll(() => text.match(/^0\r\n\r\n/gm)?.length).toBe(2)
  })

  it('ends with the others, and what was sent arrives', async () => {
    const { streams, reader, stream } = await openStream()
    let text = ''
    reader.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    await stream.send([{ id: '1', data: 'a\r\nb\rc' }])
    streams.close()
    await expect.poll(() => text).toContain('id: 1\ndata: a\ndata: b\ndata: c\n\n')
    expect(await stream.send([EVENT])).toBe(false)
  })
})
