import { once } from 'node:events'
import type { Server } from 'node:net'

/** Below the ports that Linux gives to outgoing connections and to port 0. */
const FIRST = 24_000
const COUNT = 512
/** Also two at which nobody listens. */
const ALLOWED_PORTS = [1, 9, ...Array.from({ length: COUNT }, (_, index) => FIRST + index)]

/** The items of TESLIM_WEBHOOK_ALLOW for every port at which `listenAllowed` may listen: a service can start before its receiver. */
export const allowedAt = (...hosts: readonly string[]): string[] =>
  hosts.flatMap((host) => ALLOWED_PORTS.map((port) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)))

export const WEBHOOK_ALLOW = { TESLIM_WEBHOOK_ALLOW: allowedAt('127.0.0.1').join() }

/** Processes of tests begin at different places. */
let next = process.pid

/** Listens at an allowed port that is free; returns the port. */
export async function listenAllowed(server: Server, address = '127.0.0.1'): Promise<number> {
  for (let tries = 0; ; tries++) {
    const port = FIRST + (next++ % COUNT)
    try {
      await once(server.listen(port, address), 'listening')
      return port
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || tries > COUNT) throw error
    }
  }
}
