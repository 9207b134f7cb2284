import type { Socket } from 'node:net'
import { availableParallelism } from 'node:os'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { isNetwork, networkOf, readPrefix } from '#src/lib/net/network.ts'
import { joinNetworks, type Networks } from '#src/lib/net/networks.ts'
import { onConnection } from '../tls.ts'
import { lingerAtEnd } from './node-internals.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Serves the route without a store, under overload, and on connections beyond the limit too. */
    answeredAlways?: boolean
  }
}

/** Connections accepted beyond the limit to get a refusal, as a fraction of it. Node closes further ones without an answer. */
const PART_REFUSED = 1 / 4
/** The part of the connections that one address may hold, but at least `MIN_CONNECTIONS`. */
const PART_OF_ADDRESS = 1 / 4
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
  const limit = Math.min(config.maxConnections, Math.floor(accepted / (1 + PART_REFUSED)))
  if (limit < config.maxConnections) {
    log.warn(
      `the limit of open files (ulimit -n) allows ${limit} connections, TESLIM_MAX_CONNECTIONS is ${config.maxConnections}: raise ulimit -n or lower TESLIM_MAX_CONNECTIONS`,
    )
  }
  server.maxConnections = accepted

  const limitOfAddress = Math.max(MIN_CONNECTIONS, Math.ceil(limit * PART_OF_ADDRESS))
  const proxies = trustedProxies(config.trustProxy)
  /** Also of those that have not completed their TLS handshakes. A proxy that names its clients is no client. */
  const ofAddresses = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket
    if (proxies.contain(remoteAddress)) return
    const address = networkOf(remoteAddress)
    const all = (ofAddresses.get(address) ?? 0) + 1
    // Those that wait for a refusal count, too.
    if (all > limitOfAddress * (1 + PART_REFUSED)) {
      socket.destroy()
      return
    }
    ofAddresses.set(address, all)
    socket.once('close', () => {
      const left = (ofAddresses.get(address) ?? 1) - 1
      if (left > 0) ofAddresses.set(address, left)
      else ofAddresses.delete(address)
    })
  })

  let open = 0
  /** With their addresses. */
  const beyond = new Map<Socket, string>()
  const isOver = (address: string): boolean => open > limit || (ofAddresses.get(address) ?? 0) > limitOfAddress
  const isBeyond = (socket: Socket): boolean => {
    const address = beyond.get(socket)
    if (address !== undefined && !isOver(address)) beyond.delete(socket)
    return beyond.has(socket)
  }

  onConnection(server, (socket) => {
    open++
    socket.once('close', () => {
      open--
      beyond.delete(socket)
    })
    const address = networkOf(socket.remoteAddress ?? '')
    if (!isOver(address)) return
    beyond.set(socket, address)
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
const MIN_CONNECTIONS = 8

function connectionsByDescriptors({ databasePool, databaseUrl }: Config): number {
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork: boolean }
  // The report would look up the host name of every peer.
  report.excludeNetwork = true
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } }
  const files = Number(userLimits?.open_files?.soft)
  // "unlimited", or a system without such a limit.
  if (!Number.isInteger(files)) return Number.POSITIVE_INFINITY
  const hashing = availableParallelism() * DESCRIPTORS_PER_HASH_THREAD
  const pool = databaseUrl.startsWith('sqlite:') ? 0 : databasePool
  return Math.max(MIN_CONNECTIONS, files - pool - OWN_DESCRIPTORS - hashing)
}

const LOOPBACK = ['127.0.0.0/8', '::1']

/** The networks of the checked `TESLIM_TRUST_PROXY`. */
const trustedProxies = (trustProxy: string): Networks =>
  joinNetworks(
    trustProxy
      .split(',')
      .flatMap((item) => (item.trim() === 'loopback' ? LOOPBACK : item.trim()))
      .map(readPrefix)
      .filter(isNetwork),
  )
