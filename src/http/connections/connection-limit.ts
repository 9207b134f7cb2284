import type { Socket } from 'node:net'
import { availableParallelism } from 'node:os'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { lingerAtEnd } from './lingering.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Serves the route without a store, under overload, and on connections beyond the limit too. */
    answeredAlways?: boolean
  }
}

/** Connections accepted beyond the limit to get a refusal, as a fraction of it. Node closes further ones without an answer. */
const PART_REFUSED = 1 / 4
/** How long such a connection may take to send a request. */
const PATIENCE_MILLISECONDS = 2000

/**
 * Limits connections to what the settings and the system allow. Returns a function that says whether to refuse a request
 * because its connection is beyond the limit; such a connection ends with the answer.
 */
export function limitConnections(
  { server, log }: FastifyInstance,
  config: Config,
): (request: FastifyRequest) => boolean {
  const accepted = Math.min(Math.ceil(config.maxConnections * (1 + PART_REFUSED)), connectionsByDescriptors(config))
  const most = Math.min(config.maxConnections, Math.floor(accepted / (1 + PART_REFUSED)))
  if (most < config.maxConnections) {
    const wanted = config.httpThreads === 1 ? `is ${config.maxConnections}` : 'is more'
    log.warn(
      `the limit of open files (ulimit -n) allows ${most * config.httpThreads} connections, TESLIM_MAX_CONNECTIONS ${wanted}: raise ulimit -n or lower TESLIM_MAX_CONNECTIONS`,
    )
  }
  server.maxConnections = accepted

  let open = 0
  const beyond = new Set<Socket>()
  const isBeyond = (socket: Socket): boolean => {
    if (open <= most) beyond.delete(socket)
    return beyond.has(socket)
  }

  // With TLS nothing can be answered before the handshake is complete.
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
    return !request.routeOptions.config.answeredAlways
  }
}

/** File descriptors of the store, its threads and the log, with a reserve. */
const OWN_DESCRIPTORS = 48
const DESCRIPTORS_PER_HASH_THREAD = 6
const LEAST_CONNECTIONS = 8

function connectionsByDescriptors({ hashConcurrency, databasePool, databaseUrl, httpThreads }: Config): number {
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork: boolean }
  // The report would look up the host name of every peer.
  report.excludeNetwork = true
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } }
  const files = Number(userLimits?.open_files?.soft)
  // "unlimited", or a system without such a limit.
  if (!Number.isInteger(files)) return Number.POSITIVE_INFINITY
  const hashing = (hashConcurrency || availableParallelism()) * DESCRIPTORS_PER_HASH_THREAD
  const pool = databaseUrl.startsWith('sqlite:') ? 0 : databasePool
  return Math.max(LEAST_CONNECTIONS, Math.floor((files - pool) / httpThreads) - OWN_DESCRIPTORS - hashing)
}
