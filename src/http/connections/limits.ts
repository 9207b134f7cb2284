import type { Socket } from 'node:net'
import { availableParallelism } from 'node:os'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import { trustedProxies } from '#src/lib/net/networks.ts'
import { onConnection } from '../tls.ts'
import { collectGarbage } from './collect-garbage.ts'
import { createLoopDelay, type LoopDelay } from './loop-delay.ts'
import { lingerAtEnd } from './node-internals.ts'
import { createShares, MIN_CONNECTIONS } from './shares.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly loopDelay: LoopDelay
  }
  interface FastifyContextConfig {
    /** Serves the route without a store, under overload, and on connections beyond the limit too. */
    answeredAlways?: boolean
    /** Serves the route on the connections that are left for deliveries, too. */
    usesReserve?: boolean
  }
}

/** Connections accepted beyond the limit to get a refusal, as a fraction of it. Node closes further ones without an answer. */
const PART_REFUSED = 1 / 4
/** The part of the connections that only deliveries and health checks use. */
const PART_RESERVED = 1 / 8
/** How long a connection beyond a limit, or in the reserve, may take to send a request. */
const PATIENCE_MILLISECONDS = 2000

/**
 * Limits connections to what the settings and the system allow. Returns a function that says whether to refuse a request, because its
 * connection is beyond the limit, it would use the reserve, or its client holds its part of the connections of a proxy. Its connection
 * ends with the answer.
 */
export function limitConnections(
  { server, log }: FastifyInstance,
  config: Config,
): (request: FastifyRequest, reply: FastifyReply) => boolean {
  const accepted = Math.min(Math.ceil(config.maxConnections * (1 + PART_REFUSED)), connectionsByDescriptors(config))
  const limit = Math.min(config.maxConnections, Math.floor(accepted / (1 + PART_REFUSED)))
  if (limit < config.maxConnections) {
    log.warn(
      `the limit of open files (ulimit -n) allows ${limit} connections, TESLIM_MAX_CONNECTIONS is ${config.maxConnections}: raise ulimit -n or lower TESLIM_MAX_CONNECTIONS`,
    )
  }
  server.maxConnections = accepted
  const unreserved = Math.ceil(limit * (1 - PART_RESERVED))

  const shares = createShares(limit, trustedProxies(config.trustProxy))
  // Also those that have not completed their TLS handshakes.
  server.on('connection', (socket: Socket) => {
    // Those that wait for a refusal count, too.
    const release = shares.take(socket.remoteAddress ?? '', 1 + PART_REFUSED)
    if (release === undefined) socket.destroy()
    else socket.once('close', release)
  })

  let open = 0
  /** With their addresses. */
  const beyond = new Map<Socket, string>()
  const isOver = (address: string): boolean => open > limit || shares.isOver(address)
  const isBeyond = (socket: Socket): boolean => {
    const address = beyond.get(socket)
    if (address !== undefined && !isOver(address)) beyond.delete(socket)
    return beyond.has(socket)
  }
  /** Connections that came while the reserve was in use, and have sent no request. */
  const silent = new Set<Socket>()
  /** Connections with the rest of a body whose request was answered before it had arrived. */
  const unfinished = new WeakMap<Socket, () => void>()

  onConnection(server, (socket) => {
    open++
    socket.once('close', () => {
      open--
      beyond.delete(socket)
      silent.delete(socket)
      unfinished.get(socket)?.()
    })
    const address = socket.remoteAddress ?? ''
    if (isOver(address)) beyond.set(socket, address)
    else if (open > unreserved) silent.add(socket)
    else return
    setTimeout(() => {
      if (isBeyond(socket) || (open > unreserved && silent.has(socket))) socket.destroy()
    }, PATIENCE_MILLISECONDS).unref()
  })

  /** Counts a request that a proxy has passed on for its client, until it is over. Returns false if the client holds its part already. */
  const count = ({ raw, address }: FastifyRequest, reply: FastifyReply): boolean => {
    // Nothing would tell when it is over.
    if (raw.socket.destroyed) return true
    const release = shares.take(address)
    if (release === undefined) return false
    reply.raw.once('close', () => {
      if (raw.complete || raw.socket.destroyed) return release()
      unfinished.set(raw.socket, release)
      raw.once('close', release)
    })
    return true
  }

  return (request, reply) => {
    const { socket } = request.raw
    if (silent.size > 0) silent.delete(socket)
    const { answeredAlways, usesReserve } = request.routeOptions.config
    if (answeredAlways) return false
    const isRefused =
      (beyond.size > 0 && isBeyond(socket)) ||
      (open > unreserved && !usesReserve) ||
      (request.address !== socket.remoteAddress && !count(request, reply))
    if (isRefused) lingerAtEnd(socket)
    return isRefused
  }
}

/** File descriptors of the store, its threads and the log, with a reserve. */
const OWN_DESCRIPTORS = 48
const DESCRIPTORS_PER_HASH_THREAD = 6

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

/** Tells whether this process has more to do than it can. */
export type Overload = ReturnType<typeof measureOverload>

/** How often is looked while there are many requests, and while there are some. */
const FAST_MILLISECONDS = 50
const SLOW_MILLISECONDS = 500
/** From so many requests between two looks on it looks often. */
const SOME_REQUESTS = 16
const LATE_MILLISECONDS = 200
/** A late turn with fewer requests is a pause of the machine and no overload. */
const MANY_REQUESTS = 100
const LATE_TURNS = 3
const NEVER = 0
/** The share of the limit for old objects beyond which V8 would do little but collect garbage, and then end the process. */
const FULL_HEAP = 0.9
/** V8's limit of the heap includes these for young objects, unless `--max-semi-space-size` says otherwise. */
const YOUNG_BYTES = 96 * 1024 * 1024
/**
 * While everything is refused, V8 has no reason to collect: a heap that is full of garbage would stay so. One that is full of what is
 * needed is not collected all the time.
 */
const COLLECT_EVERY_MILLISECONDS = 1000
/** While the event loop is late, garbage is collected at this size: V8 would let the heap grow to 256 MB and more first. */
const COLLECT_BYTES = 96 * 1024 * 1024

/**
 * Looks at the event loop and the heap while requests come: to look at an idle process would only wake it. A loop that is late several times in a row with many requests each time refuses
 * reads, which cost it ten times as much as a refusal. A delivery costs little more than a refusal, so it is taken as long as the
 * queue is not full (docs/decisions/0025-overload.md).
 */
export function measureOverload(app: FastifyInstance, clock: Clock, heap = V8_HEAP) {
  const loopDelay = createLoopDelay()
  let timer: NodeJS.Timeout | undefined
  let interval = 0
  let lookedAt = 0
  let requests = 0
  let lateTurns = 0
  let heapIsFull = false
  let collectAt = COLLECT_BYTES
  let collectedAt = Number.NEGATIVE_INFINITY

  const lookEvery = (milliseconds: number): void => {
    if (interval === milliseconds) return
    clearInterval(timer)
    interval = milliseconds
    timer = milliseconds === NEVER ? undefined : setInterval(look, milliseconds).unref()
    lookedAt = clock.monotonic()
  }

  const look = (): void => {
    const delay = clock.monotonic() - lookedAt - interval
    loopDelay.note(delay)
    const isLate = delay > LATE_MILLISECONDS && requests >= MANY_REQUESTS
    lateTurns = isLate ? lateTurns + 1 : 0
    let { used, old, oldLimit } = heap.statistics()
    heapIsFull = old > oldLimit * FULL_HEAP
    // V8 may have collected by itself.
    collectAt = Math.min(collectAt, Math.max(COLLECT_BYTES, used * 1.5))
    const isDue = heapIsFull && clock.monotonic() - collectedAt > COLLECT_EVERY_MILLISECONDS
    if (isDue || (isLate && used > collectAt)) {
      heap.collectGarbage()
      collectedAt = clock.monotonic()
      ;({ used, old, oldLimit } = heap.statistics())
      heapIsFull = old > oldLimit * FULL_HEAP
      collectAt = Math.max(COLLECT_BYTES, used * 1.5)
    }
    lookedAt = clock.monotonic()
    const isBusy = heapIsFull || lateTurns > 0 || requests >= SOME_REQUESTS
    const wasBusy = interval === FAST_MILLISECONDS
    lookEvery(isBusy ? FAST_MILLISECONDS : wasBusy || requests > 0 ? SLOW_MILLISECONDS : NEVER)
    requests = 0
  }

  app.decorate('loopDelay', loopDelay)
  app.addHook('onClose', async () => lookEvery(NEVER))
  return {
    /** Must be called once for each request. Returns whether to refuse it. */
    refuses(isRead: boolean) {
      if (++requests === SOME_REQUESTS || timer === undefined) lookEvery(FAST_MILLISECONDS)
      return heapIsFull || (isRead && lateTurns >= LATE_TURNS)
    },
    /** Whether to skip optional work, such as compression. */
    isOverloaded: () => heapIsFull || lateTurns > 0,
  }
}

const YOUNG = new Set(['new_space', 'new_large_object_space'])

/** The heap's limits are those of V8, which ends the process when old objects reach theirs. */
function statistics() {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics()
  let old = used
  for (const { space_name: name, space_used_size: size } of getHeapSpaceStatistics()) if (YOUNG.has(name)) old -= size
  return { used, old, oldLimit: Math.max(limit - YOUNG_BYTES, limit / 2) }
}

export const V8_HEAP = { statistics, collectGarbage }
