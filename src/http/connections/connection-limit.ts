import type { Socket } from 'node:net'
import { availableParallelism } from 'node:os'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { lingerAtEnd } from './lingering.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route is served over a connection beyond the limit, too. */
    answeredBeyondLimit?: boolean
  }
}

/** Connections beyond the limit that may wait for their refusal, as a part of it. Node closes those beyond without a word. */
const PART_REFUSED = 1 / 4
/** They have this long to send a request. */
const PATIENCE_MILLISECONDS = 2000

/**
 * Holds no more connections than the settings and the system allow. Returns whether a request is to be refused because it
 * came over one beyond that, which then ends with the answer.
 */
export function limitConnections(
  { server, log }: FastifyInstance,
  config: Config,
): (request: FastifyRequest) => boolean {
  const accepted = Math.min(Math.ceil(config.maxConnections * (1 + PART_REFUSED)), connectionsByDescriptors(config))
  const most = Math.min(config.maxConnections, Math.floor(accepted / (1 + PART_REFUSED)))
  if (most < config.maxConnections) {
    log.warn(
      `the limit of open files (ulimit -n) allows ${most} connections, TESLIM_MAX_CONNECTIONS is ${config.maxConnections}: raise the former or lower the latter`,
    )
  }
  server.maxConnections = accepted

  let open = 0
  const beyond = new Set<Socket>()
  const isBeyond = (socket: Socket): boolean => {
    if (open <= most) beyond.delete(socket)
    return beyond.has(socket)
  }

  // With TLS nothing can be answered before the handshake has ended.
  server.on('setSecureContext' in server ? 'secureConnection' : 'connection', (socket: Socket) => {
    open++
    socket.once('close', () => {
      open--
      beyond.delete(socket)
    })
    if (open <= most) return
    beyond.add(socket)
    setTimeout(() => {
      if (isBeyond(socket)) socket.destroy()
    }, PATIENCE_MILLISECONDS).unref()
  })

  return (request) => {
    if (beyond.size === 0 || !isBeyond(request.raw.socket)) return false
    lingerAtEnd(request.raw.socket)
    return !request.routeOptions.config.answeredBeyondLimit
  }
}

/** What the threads of the store, the store itself and the log have open, with some to spare. */
const OWN_DESCRIPTORS = 48
const DESCRIPTORS_PER_HASH_THREAD = 6
const LEAST_CONNECTIONS = 8

function connectionsByDescriptors({ hashConcurrency, databasePool, databaseUrl }: Config): number {
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork: boolean }
  // Else it looks up the name of every peer.
  report.excludeNetwork = true
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } }
  const files = Number(userLimits?.open_files?.soft)
  // "unlimited", or a system that has no such limit.
  if (!Number.isInteger(files)) return Number.POSITIVE_INFINITY
  const hashing = (hashConcurrency || availableParallelism()) * DESCRIPTORS_PER_HASH_THREAD
  const pool = databaseUrl.startsWith('sqlite:') ? 0 : databasePool
  return Math.max(LEAST_CONNECTIONS, files - OWN_DESCRIPTORS - hashing - pool)
}
