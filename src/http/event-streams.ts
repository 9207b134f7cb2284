import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import { type BodyPool, budgetOwner, type Reservation } from './body/budget.ts'
import { disconnect } from './connections/unread.ts'

interface ServerSentEvent {
  /** Without one, the reader keeps the id of the event before. */
  readonly id?: string | undefined
  /** UTF-8 if it is bytes. Line breaks arrive as LF. */
  readonly data: string | Buffer
}

/** Shorter than the idle timeout of common proxies. */
const HEARTBEAT_MILLISECONDS = 15_000
/** Readers wait this long before they reconnect. */
const RETRY_MILLISECONDS = 2000
/** A connection gets no more than this at once. Nothing is reserved for it. */
const PIECE_BYTES = 65_536
const BUDGET_POLL_MILLISECONDS = 100

/** `connections/unread.ts` disconnects readers that do not read. */
export function createEventStreams(pool: BodyPool, interval = HEARTBEAT_MILLISECONDS) {
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
    /** Begins a stream of server-sent events (WHATWG HTML, "Server-sent events") to one reader. */
    open(reply: FastifyReply) {
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
      const leave = (): void => {
        forget(response)
        gone.abort()
      }
      response.on('close', leave)
      // The reader has left before its stream began. Whoever opens it listens for that only afterwards.
      if (response.destroyed) queueMicrotask(leave)
      const write = async (data: Uint8Array): Promise<boolean> => {
        for (let sent = 0; sent < data.length; sent += PIECE_BYTES) {
          if (response.destroyed || response.writableEnded) return false
          if (response.write(data.subarray(sent, sent + PIECE_BYTES))) continue
          const isOpen = await once(response, 'drain', { signal: gone.signal }).catch(() => undefined)
          if (isOpen === undefined) return false
        }
        return true
      }
      let reservation: Reservation | undefined
      let reservedBytes = 0
      const release = (): void => {
        reservation?.release()
        reservation = undefined
        reservedBytes = 0
      }
      const tryReserve = (bytes: number): boolean => {
        if (bytes <= PIECE_BYTES || bytes <= reservedBytes || gone.signal.aborted) return true
        reservation ??= pool.reserve(budgetOwner(request), () => disconnect(socket))
        if (reservation.extend(bytes - reservedBytes)) reservedBytes = bytes
        else release()
        return reservedBytes > 0
      }
      gone.signal.addEventListener('abort', release)
      let offering = false
      return {
        /** Aborted when the connection closes, from either side. */
        gone: gone.signal,
        /**
         * Reserves memory for events of about that many bytes, until `send` has sent them. If there is none, returns false: forget them,
         * wait for `reserve`, and read them again.
         */
        tryReserve,
        /** Resolves when it has reserved that many bytes, or the reader is gone. */
        async reserve(bytes: number) {
          while (!gone.signal.aborted && !response.writableEnded && !tryReserve(bytes))
            await setTimeout(BUDGET_POLL_MILLISECONDS)
        },
        /** Resolves to false if the reader has disconnected, or was cut off because it read too little. */
        send: ([first, ...others]: readonly ServerSentEvent[]) => {
          if (first === undefined) return write(NOTHING)
          const bytes = others.length === 0 ? eventBytes(first) : Buffer.concat([first, ...others].map(eventBytes))
          return write(bytes).finally(release)
        },
        /**
         * Sends bytes made by `eventBytes`, which several readers may share, and does not wait. Returns false, with nothing sent, while
         * the reader has not taken what was sent before.
         */
        offer(bytes: Uint8Array) {
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
    /** Ends every stream, so that readers reconnect to another replica. */
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
