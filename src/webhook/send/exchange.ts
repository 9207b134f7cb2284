import type { Connection, Connections } from './connections.ts'

export interface Post {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

export interface Answer {
  readonly status: number
  readonly headers: AnswerHeaders
  /** The beginning of the body; null if there is none. */
  readonly body: Buffer | null
}

const MAX_BYTES = 65_536
/** How much of the body is kept. */
export const KEPT_BYTES = 1024

export type Exchange = ReturnType<typeof exchange>

/** Sends a request once; once more if the server closed the connection while it was idle. */
export function exchange(connections: Connections, post: Post) {
  const { promise, resolve } = Promise.withResolvers<Answer | Error>()
  let connection: Connection | undefined
  let isSettled = false
  const end = (result: Answer | Error): void => {
    if (isSettled) return
    isSettled = true
    resolve(result)
  }
  const run = (taken: Connection): void => {
    connection = taken
    const isReused = taken.begin()
    let status = 0
    let headers: AnswerHeaders = {}
    let length = 0
    const kept: Buffer[] = []
    const answer = (): Answer => ({ status, headers, body: length === 0 ? null : Buffer.concat(kept) })
    taken.client.dispatch(
      { method: 'POST', path: post.path, headers: post.headers, body: post.body },
      {
        onRequestStart() {},
        onResponseStart(_controller, code, received) {
          status = code
          headers = received
        },
        onResponseData(_controller, chunk) {
          // Copied, so that the rest of the chunk can be freed.
          if (length < KEPT_BYTES) kept.push(Buffer.from(chunk.subarray(0, KEPT_BYTES - length)))
          length += chunk.length
          if (length <= MAX_BYTES) return
          end(answer())
          connections.drop(taken)
        },
        onResponseEnd() {
          connections.give(taken)
          end(answer())
        },
        onResponseError(_controller, error) {
          if (!isSettled && isReused && !taken.isHeard() && isClosedByOtherSide(error))
            return run(connections.replace(taken))
          end(error)
          connections.drop(taken)
        },
      },
    )
  }
  const stopWaiting = connections.take(run)
  return {
    /** The answer, or what went wrong. Never rejects. */
    result: promise,
    /** Ends the attempt with this error. */
    stop(error: Error) {
      if (isSettled) return
      end(error)
      stopWaiting()
      if (connection) connections.drop(connection)
    },
  }
}

/** A server may close an idle connection just when the next request is written. */
const isClosedByOtherSide = (error: Error): boolean =>
  ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '')
