import type { Socket } from 'node:net'

/** Long enough for the answer to be read. */
const LINGER_MILLISECONDS = 2_000

/**
 * Leaves a connection whose own side has ended to the client to close, for a while: destroyed with bytes of the client
 * unread, it would be reset, and the client might never see the answer.
 */
export function lingerBeforeDestroy(socket: Socket): void {
  if (socket.destroyed) return
  // What `destroySoon`, by which Node ends a connection after its last answer, would do next.
  socket.removeListener('finish', socket.destroy)
  const cut = setTimeout(() => socket.destroy(), LINGER_MILLISECONDS)
  socket.once('close', () => clearTimeout(cut))
}

/**
 * Has a connection end gently after its answer, while the client may still be sending: closed at once with bytes unread,
 * the system would reset it, and the client might never see the answer. What still comes is dropped.
 */
export function lingerAtEnd(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end()
    lingerBeforeDestroy(socket)
  }
}
