import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** Calls back for each connection; with TLS once its handshake is complete, as nothing can be answered before. */
export const onConnection = (server: Server, work: (socket: Socket) => void): void =>
  void server.on('setSecureContext' in server ? 'secureConnection' : 'connection', work)
