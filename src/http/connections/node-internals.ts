// What leans on private parts of Node stands here alone. test/http/node-internals.test.ts fails when a version of Node changes one of them.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

/** Returns the answer to the oldest request of a connection that has none yet. The request may still be arriving. */
export const answerUnderWay = (socket: Socket): ServerResponse | null =>
  (socket as Socket & { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? null

/** Returns the connection that carries a TLS connection. */
export const carrierOf = (socket: TLSSocket): Socket => (socket as TLSSocket & { readonly _parent: Socket })._parent

/** Calls back when the server closes, instead of ending its idle connections at once. */
export function insteadOfClosingIdle(server: Server, work: () => void): void {
  server.closeIdleConnections = work
}

interface Parser {
  readonly socket: Socket
  readonly incoming: { readonly complete: boolean } | null
}

/** What Node keeps for its time limits. Nothing public tells which connections are idle, or have half of a request. */
interface ConnectionsList {
  idle(): readonly Parser[]
  active(): readonly Parser[]
}

/** Lists the connections without a request under way, not even half of one; the rest of a body that was refused does not count. */
export function withoutRequest(server: Server): Socket[] {
  const key = Object.getOwnPropertySymbols(server).find(({ description }) => description === 'http.server.connections')
  const connections = (server as unknown as Record<symbol, ConnectionsList | undefined>)[key as symbol]
  if (connections === undefined) return []
  const answered = connections.active().filter(({ incoming }) => incoming?.complete === false)
  const sockets = [...connections.idle(), ...answered].map(({ socket }) => socket)
  return sockets.filter((socket) => answerUnderWay(socket) === null)
}

/**
 * Makes a body that is paused stop its connection with the first piece that nobody takes. Node would go on until 64 KiB wait, and of
 * bytes that come one by one each would wait as a buffer of its own.
 */
export function stopReadingWhenPaused(body: IncomingMessage): void {
  const { _readableState: state } = body as unknown as { readonly _readableState: { highWaterMark: number } }
  state.highWaterMark = 1
}

/** Long enough for the client to read the answer. */
const LINGER_MILLISECONDS = 2_000

/**
 * Gives the client some time to close a connection that our side has ended. Destroying it with unread bytes would reset it, and
 * the client might never see the answer.
 */
export function lingerBeforeDestroy(socket: Socket, milliseconds = LINGER_MILLISECONDS): void {
  if (socket.destroyed) return
  // Node's `destroySoon` would destroy the socket at this event.
  socket.removeListener('finish', socket.destroy)
  const cut = setTimeout(() => socket.destroy(), milliseconds)
  socket.once('close', () => clearTimeout(cut))
}

/** Makes a connection end that gently after its answer, although the client may still be sending. Drops what still arrives. */
export function lingerAtEnd(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end()
    lingerBeforeDestroy(socket)
  }
}
