import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import { type BodyPool, type HeldBody, roomOwner } from './body/budget.ts'
import { disconnect } from './connections/unread.ts'

/** A stream of server-sent events (WHATWG HTML, "Server-sent events") to one reader. */
export interface EventStream {
  /**
   * Takes room for events of about so many bytes, until `send` has sent them. If there is none, returns false: forget them, wait for
   * `room`, and read them again.
   */
  take(bytes: number): boolean
  /** Resolves when it has taken room for so many bytes, or the reader is gone. */
  room(bytes: number): Promise<void>
  /** Resolves to false if the reader has disconnected, or was cut off because it read too little. */
  send(events: readonly ServerSentEvent[]): Promise<boolean>
  /**
   * Sends bytes made by `eventBytes`, which several readers may share, and does not wait. Returns false, with nothing sent, while the
   * reader has not taken what was sent before.
   */
  offer(bytes: Uint8Array): boolean
  /** Aborted when the connection closes, from either side. */
  readonly gone: AbortSignal
  end(): void
}

export interface ServerSentEvent {
  /** Without one, the reader keeps the id of the event before. */
  readonly id?: string | undefined
  /** UTF-8 if it is bytes. Line breaks arrive as LF. */
  readonly data: string | Buffer
}

export interface EventStreams {
  open(reply: FastifyReply): EventStream
  /** Ends every stream, so that readers reconnect to another replica. */
  close(): void
}

/** Shorter than the idle timeout of common proxies. */
const HEARTBEAT_MILLISECONDS = 15_000
/** Readers wait this long before they reconnect. */
const RETRY_MILLISECONDS = 2000
/** A connection gets no more than this at once. So much needs no room. */
const PIECE_BYTES = 65_536
const ROOM_POLL_MILLISECONDS = 100

/** `connections/unread.ts` disconnects readers that do not read. */
export function createEventStreams(pool: BodyPool, interval = HEARTBEAT_MILLISECONDS): EventStreams {
  const responses = new Set<ServerResponse>()
  let heartbeat: NodeJS.Timeout | undefined
  let closed = false

  const beat = (): void => {
    for (const response of responses) {
      // An ended stream may still have data to send.
      if (!response.writableEnded && !response.writableNeedDrain) response.write(':\n\n')
    }
  }

  const forget = (response: ServerResponse): void => {
    responses.delete(response)
    if (responses.size > 0) return
    clearInterval(heartbeat)
    heartbeat = undefined
  }

  return {
    open(reply) {
      reply.hijack()
      const { raw: response, request } = reply
      request.isStream = true
      const { socket } = request.raw
      const gone = new AbortController()
      response.writeHead(200, { ...reply.getHeaders(), 'content-type': 'text/event-stream; charset=utf-8' } as never)
      response.write(`retry: ${RETRY_MILLISECONDS}\n\n`)
      if (closed || request.method === 'HEAD') response.end()
      responses.add(response)
      heartbeat ??= setInterval(beat, interval).unref()
      // Without a listener an error would crash the process.
      response.on('error', () => response.destroy())
      response.on('close', () => {
        forget(response)
        gone.abort()
      })
      const write = async (data: Uint8Array): Promise<boolean> => {
        for (let sent = 0; sent < data.length; sent += PIECE_BYTES) {
          if (response.destroyed || response.writableEnded) return false
          if (response.write(data.subarray(sent, sent + PIECE_BYTES))) continue
          const isOpen = await once(response, 'drain', { signal: gone.signal }).catch(() => undefined)
          if (isOpen === undefined) return false
        }
        return true
      }
      let held: HeldBody | undefined
      let heldBytes = 0
      const giveBack = (): void => {
        held?.release()
        held = undefined
        heldBytes = 0
      }
      const take = (bytes: number): boolean => {
        if (bytes <= PIECE_BYTES || bytes <= heldBytes || gone.signal.aborted) return true
        held ??= pool.hold(roomOwner(request), () => disconnect(socket))
        if (held.grow(bytes - heldBytes)) heldBytes = bytes
        else giveBack()
        return heldBytes > 0
      }
      gone.signal.addEventListener('abort', giveBack)
      let offering = false
      return {
        gone: gone.signal,
        take,
        async room(bytes) {
          while (!gone.signal.aborted && !response.writableEnded && !take(bytes))
            await setTimeout(ROOM_POLL_MILLISECONDS)
        },
        send: ([first, ...others]) => {
          if (first === undefined) return write(NOTHING)
          const bytes = others.length === 0 ? eventBytes(first) : Buffer.concat([first, ...others].map(eventBytes))
          return write(bytes).finally(giveBack)
        },
        offer(bytes) {
          if (offering || gone.signal.aborted) return false
          offering = true
          void write(bytes).then(() => {
            offering = false
          })
          return true
        },
        end: () => void response.end(),
      }
    },
    close() {
      closed = true
      for (const response of responses) response.end()
    },
  }
}

const NOTHING = new Uint8Array()
const LINE_BREAK = /\r\n|\r|\n/g

/** Large data without line breaks is copied once. */
export function eventBytes({ id, data }: ServerSentEvent): Uint8Array {
  const head = id === undefined ? 'data: ' : `id: ${id}\ndata: `
  if (typeof data !== 'string' && !data.includes('\n') && !data.includes('\r'))
    return Buffer.concat([Buffer.from(head), data, END_OF_EVENT])
  return Buffer.from(`${head}${data.toString().replace(LINE_BREAK, '\ndata: ')}\n\n`)
}

const END_OF_EVENT = Buffer.from('\n\n')
