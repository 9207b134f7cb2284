import type { Socket } from 'node:net'
import type { Client } from 'undici'
import { createInterim } from './interim.ts'

/** A place for one connection, which is opened by the first request and opened again if it was closed meanwhile. */
export interface Connection {
  readonly client: Client
  /** Notes that a request begins. Returns whether there is a connection already. */
  begin(): boolean
  /** Whether anything was received since then. */
  isHeard(): boolean
}

/** The connections to one endpoint. Each serves one request at a time. */
export type Connections = ReturnType<typeof createConnections>

export const MAX_CONNECTIONS = 32
/** More than headers and body of an answer need: without it an answer in endless pieces without content would be read all the time. */
const MAX_READ_BYTES = 1_048_576
export const IDLE_MILLISECONDS = 30_000

interface Options {
  readonly Client: typeof Client
  readonly origin: string
  readonly open: (signal: AbortSignal) => Promise<Socket>
  readonly monotonic: () => number
}

interface Slot extends Connection {
  readonly abort: AbortController
  idleSince: number
}

export function createConnections(options: Options) {
  const all = new Set<Slot>()
  const idle: Slot[] = []
  const waiting = new Set<(connection: Connection) => void>()

  const remove = (slot: Slot): Promise<void> | undefined => {
    if (!all.delete(slot)) return undefined
    const place = idle.indexOf(slot)
    if (place >= 0) idle.splice(place, 1)
    const reason = new Error('the connection was given up')
    slot.abort.abort(reason)
    return slot.client.destroy(reason)
  }
  const add = (): Slot => {
    const slot = openSlot(options)
    all.add(slot)
    return slot
  }
  const free = (): Slot | undefined => idle.pop() ?? (all.size < MAX_CONNECTIONS ? add() : undefined)
  const serveNext = (): boolean => {
    const [next] = waiting
    if (next === undefined) return false
    const slot = free()
    if (slot === undefined) return false
    waiting.delete(next)
    next(slot)
    return true
  }
  // Later, because attempts that began together end together: no connection is opened for one that is about to end.
  const serveLater = (): void => {
    if (waiting.size === 0) return
    setImmediate(() => {
      while (serveNext());
    })
  }

  return {
    /** Calls back once a connection is free. Returns a function that gives up waiting. */
    take(callback: (connection: Connection) => void) {
      const slot = free()
      if (slot) callback(slot)
      else waiting.add(callback)
      return () => waiting.delete(callback)
    },
    /** Keeps a connection for the next request. */
    give(connection: Connection) {
      const slot = connection as Slot
      if (!all.has(slot)) return
      slot.idleSince = options.monotonic()
      idle.push(slot)
      serveNext()
    },
    /** Closes a connection, whatever it is doing. */
    drop(connection: Connection) {
      void remove(connection as Slot)
      serveLater()
    },
    /** Closes a connection and returns a new one in its place, which those that wait do not get. */
    replace(connection: Connection) {
      void remove(connection as Slot)
      return add()
    },
    /** Forgets connections that were idle since this time. Returns whether none are left. */
    prune(idleSince: number) {
      for (const slot of idle.filter((each) => each.idleSince <= idleSince)) void remove(slot)
      return all.size === 0 && waiting.size === 0
    },
    async close() {
      waiting.clear()
      await Promise.all(Array.from(all, remove))
    },
  }
}

function openSlot({ Client, origin, open, monotonic }: Options): Slot {
  const abort = new AbortController()
  const interim = createInterim()
  let socket: Socket | undefined
  let readBefore = 0
  const connect = async (): Promise<Socket> => {
    const opened = await open(abort.signal)
    socket = opened
    readBefore = opened.bytesRead
    const read = opened.read.bind(opened)
    // This is how undici reads.
    opened.read = () => {
      for (let bytes = read(); bytes !== null; bytes = read()) {
        const left = interim.pass(bytes)
        if (left.length > 0) return left
      }
      return null
    }
    opened.on('readable', () => {
      if (opened.bytesRead - readBefore > MAX_READ_BYTES) opened.destroy(new Error('the answer is too large'))
    })
    return opened
  }
  const client = new Client(origin, {
    allowH2: false,
    pipelining: 1,
    // One timer for the whole attempt does what these would do.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: IDLE_MILLISECONDS,
    keepAliveMaxTimeout: IDLE_MILLISECONDS,
    connect: (_options, callback) => {
      connect().then(
        (opened) => callback(null, opened),
        (error) => callback(error, null),
      )
    },
  })
  return {
    client,
    abort,
    idleSince: monotonic(),
    begin() {
      readBefore = socket?.bytesRead ?? 0
      interim.begin()
      return socket?.destroyed === false
    },
    isHeard: interim.isHeard,
  }
}
