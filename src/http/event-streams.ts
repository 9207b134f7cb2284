import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

/** A stream of server-sent events (WHATWG HTML, "Server-sent events") to one reader. */
export interface EventStream {
  /** Resolves to false if the reader has disconnected, or was cut off because it read nothing for too long. */
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
  /** Line breaks arrive as LF. */
  readonly data: string
}

export interface EventStreams {
  open(reply: FastifyReply): EventStream
  /** Ends every stream, so that readers reconnect to another replica. */
  close(): void
}

/** In milliseconds. */
export interface Patience {
  /** Shorter than the idle timeout of common proxies. */
  readonly heartbeat: number
  /** How long a reader may leave its data unread. */
  readonly slowestReader: number
}

const PATIENCE: Patience = { heartbeat: 15_000, slowestReader: 30_000 }
/** Readers wait this long before they reconnect. */
const RETRY_MILLISECONDS = 2000

export function createEventStreams({ heartbeat: interval, slowestReader } = PATIENCE): EventStreams {
  const responses = new Set<ServerResponse>()
  let heartbeat: NodeJS.Timeout | undefined
  let closed = false

  const beat = (): void => {
    for (const response of responses) {
      // An ended stream may still have data to send.
      if (!response.writableEnded && !response.writableNeedDrain) response.write(':\n\n')
    }
  }

  /** Ends a stream; destroys it if the reader leaves the rest unread. */
  const end = (response: ServerResponse): void => {
    response.end()
    const cut = setTimeout(() => response.destroy(), slowestReader).unref()
    response.once('close', () => clearTimeout(cut))
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
      reply.request.isStream = true
      const { raw: response } = reply
      const gone = new AbortController()
      response.writeHead(200, { ...reply.getHeaders(), 'content-type': 'text/event-stream; charset=utf-8' } as never)
      response.write(`retry: ${RETRY_MILLISECONDS}\n\n`)
      if (closed || reply.request.method === 'HEAD') end(response)
      responses.add(response)
      heartbeat ??= setInterval(beat, interval).unref()
      // Without a listener an error would crash the process.
      response.on('error', () => response.destroy())
      response.on('close', () => {
        forget(response)
        gone.abort()
      })
      const write = async (data: string | Uint8Array): Promise<boolean> => {
        if (response.destroyed || response.writableEnded) return false
        if (response.write(data)) return true
        const slow = AbortSignal.timeout(slowestReader)
        try {
          await once(response, 'drain', { signal: AbortSignal.any([slow, gone.signal]) })
          return true
        } catch {
          response.destroy()
          return false
        }
      }
      let offering = false
      return {
        gone: gone.signal,
        send: (events) => write(events.map(eventText).join('')),
        offer(bytes) {
          if (offering || gone.signal.aborted) return false
          offering = true
          void write(bytes).then(() => {
            offering = false
          })
          return true
        },
        end: () => end(response),
      }
    },
    close() {
      closed = true
      for (const response of responses) end(response)
    },
  }
}

const eventText = ({ id, data }: ServerSentEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}data: ${data.replace(/\r\n|\r|\n/g, '\ndata: ')}\n\n`

export const eventBytes = (event: ServerSentEvent): Uint8Array => Buffer.from(eventText(event))
