import type { Socket } from 'node:net'

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

/**
 * Makes a connection end gently after its answer, although the client may still be sending. Closing it at once with unread
 * bytes would reset it, and the client might never see the answer. Drops what still arrives.
 */
export function lingerAtEnd(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end()
    lingerBeforeDestroy(socket)
  }
}
