import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

/** Server-sent events (WHATWG HTML, "Server-sent events") to one reader. */
export interface EventStream {
  /** Resolves to false once the reader has gone, or was cut off because it took nothing for too long. */
  send(events: readonly ServerSentEvent[]): Promise<boolean>
  /** Aborted when the reader has gone, whoever ended it. */
  readonly gone: AbortSignal
  end(): void
}

export interface ServerSentEvent {
  readonly id: string
  /** A line break in it arrives as LF, whatever it was. */
  readonly data: string
}

export interface EventStreams {
  open(reply: FastifyReply): EventStream
  /** Ends every stream, so that its reader comes back to another replica. */
  close(): void
}

/** These are milliseconds. */
export interface Patience {
  /** Below the time after which proxies give up a silent connection. */
  readonly heartbeat: number
  /** For a reader that takes nothing of what waits for it. */
  readonly slowestReader: number
}

const PATIENCE: Patience = { heartbeat: 15_000, slowestReader: 30_000 }
/** Readers wait this long before they come back. */
const RETRY_MILLISECONDS = 2000

export function createEventStreams({ heartbeat: interval, slowestReader } = PATIENCE): EventStreams {
  const responses = new Set<ServerResponse>()
  let heartbeat: NodeJS.Timeout | undefined
  let closed = false

  const beat = (): void => {
    for (const response of responses) {
      // One that was ended may still have something to send.
      if (!response.writableEnded && !response.writableNeedDrain) response.write(':\n\n')
    }
  }

  /** What its reader does not take is given up after a while. */
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
      const { raw: response } = reply
      const gone = new AbortController()
      response.writeHead(200, { ...reply.getHeaders(), 'content-type': 'text/event-stream; charset=utf-8' } as never)
      response.write(`retry: ${RETRY_MILLISECONDS}\n\n`)
      if (closed) end(response)
      responses.add(response)
      heartbeat ??= setInterval(beat, interval).unref()
      // Without a listener an error would end the process.
      response.on('error', () => response.destroy())
      response.on('close', () => {
        forget(response)
        gone.abort()
      })
      return {
        gone: gone.signal,
        async send(events) {
          if (response.destroyed || response.writableEnded) return false
          if (response.write(events.map(eventText).join(''))) return true
          const slow = AbortSignal.timeout(slowestReader)
          try {
            await once(response, 'drain', { signal: AbortSignal.any([slow, gone.signal]) })
            return true
          } catch {
            response.destroy()
            return false
          }
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
  `id: ${id}\ndata: ${data.replace(/\r\n|\r|\n/g, '\ndata: ')}\n\n`
