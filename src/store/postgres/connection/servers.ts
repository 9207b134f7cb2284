import type { ClientConfig } from 'pg'
import { sharedWork } from '#src/lib/shared-work.ts'
import { type Connection, openConnection, type Server } from './connection.ts'
import { Full, isFull, isReadOnly, UnsafeServer } from './failures.ts'

/** The servers of one URL, of which one is used: where the last leading session was opened. */
export interface Servers {
  /**
   * Opens the session that all others follow, at the server that takes writes; of several at the one that was promoted last.
   * Closes all sessions that lead elsewhere.
   */
  openLeading(options: { readonly pipelined: boolean }): Promise<Connection>
  /** Opens another session at the same server. */
  open(): Promise<Connection>
  /** Whether one more session may be opened. `reserved`: so many others come first. */
  hasRoom(reserved?: number): boolean
  processIds(): number[]
  /** The number of leading sessions that were given up, but that the server has not ended yet. */
  waiting(): number
  /** Resolves once all sessions have ended, at the latest after two seconds. */
  close(): Promise<void>
}

interface ServersOptions {
  /** Limits the sessions at one server. */
  readonly most: number
  readonly timeoutSeconds: number
  /** Called when a session has ended. */
  onGone(): void
}

const CLOSE_MILLISECONDS = 2000
/** How long the others are waited for when one server has accepted a session. */
const OTHERS_MILLISECONDS = 500

const PROCESS = 'SELECT FROM pg_stat_activity WHERE pid = $1'

/** How long a server that was superseded has to be the only one that accepts writes before it is used again. */
const SUPERSEDED_MILLISECONDS = 10_000
const SUPERSEDED =
  'The only server that accepts writes was superseded by one that teslim has used, and may lack what was confirmed there: the other one is waited for.'

interface Offer {
  readonly server: Server
  readonly connection: Connection
}

export function createServers(addresses: readonly ClientConfig[], options: ServersOptions): Servers {
  const { most, timeoutSeconds, onGone } = options
  const none = Promise.withResolvers<void>()
  let closed = false

  const all = addresses.map((address): Server => {
    const server: Server = {
      address,
      sessions: new Set(),
      answers: 0,
      unansweredAt: Number.NEGATIVE_INFINITY,
      hasTimeline: true,
      onGone() {
        onGone()
        if (closed && all.every(({ sessions }) => sessions.size === 0)) none.resolve()
      },
      leave() {
        for (const connection of server.sessions) connection.destroy()
      },
      // Its commits may wait for a standby that was promoted. Those of other replicas wait for a lock then, and get an answer.
      onLate() {
        server.unansweredAt = performance.now()
        if (server === current && all.length > 1) void reconsider()
      },
      async stillHas({ direct, processId }) {
        const living = Array.from(server.sessions).find((session) => !session.isLost())
        // A pooler ends its sessions itself, and names processes that are not the server's.
        if (!direct || living === undefined) return !direct
        return living.query(PROCESS, [processId]).then(
          ({ rows }) => rows.length > 0,
          () => true,
        )
      },
    }
    return server
  })
  let current = all[0] as Server
  let leading: Connection | undefined
  /** The last one that is known. */
  let timeline: string | null = null
  let supersededSince: number | undefined

  const openAt = async (server: Server, pipelined: boolean): Promise<Connection> => {
    if (server.sessions.size >= most) throw new Full('all connections are in use')
    try {
      return await openConnection(server, { timeoutSeconds, pipelined })
    } catch (error) {
      if (isReadOnly(error)) server.leave()
      throw error
    }
  }

  /** Resolves to the sessions that were opened until all servers have answered, or a moment after the first one was. */
  const offersOf = async (pipelined: boolean, failures: Map<Server, unknown>): Promise<Offer[]> => {
    const offers: Offer[] = []
    const enough = Promise.withResolvers<void>()
    let timer: NodeJS.Timeout | undefined
    const attempts = all.map(async (server) => {
      try {
        offers.push({ server, connection: await openAt(server, pipelined) })
        timer ??= setTimeout(enough.resolve, OTHERS_MILLISECONDS)
      } catch (error) {
        failures.set(server, error)
      }
    })
    const settled = Promise.all(attempts)
    await Promise.race([settled, enough.promise])
    clearTimeout(timer)
    const inTime = [...offers]
    void settled.then(() => {
      for (const offer of offers) if (!inTime.includes(offer)) offer.connection.close()
    })
    return inTime
  }

  /** Sorts the best one first. */
  const byPreference = (one: Offer, other: Offer): number =>
    compareTimelines(other.connection.timeline, one.connection.timeline) ||
    one.server.unansweredAt - other.server.unansweredAt ||
    Number(other.server === current) - Number(one.server === current) ||
    all.indexOf(one.server) - all.indexOf(other.server)

  /** Closes also the sessions that are still being opened elsewhere. */
  const follow = ({ server, connection }: Offer): void => {
    current = server
    leading = connection
    timeline = connection.timeline ?? timeline
    supersededSince = undefined
    for (const each of all) {
      for (const session of each.sessions) {
        if (each !== server || compareTimelines(session.timeline, timeline) !== 0) session.destroy()
      }
    }
  }

  const openLeading: Servers['openLeading'] = async ({ pipelined }) => {
    const failures = new Map<Server, unknown>()
    const offers = await offersOf(pipelined, failures)
    const [best] = offers.sort(byPreference)
    if (best === undefined) {
      const errors = [failures.get(current), ...failures.values()]
      throw errors.find((error) => error instanceof UnsafeServer) ?? errors.find(isFull) ?? errors[0]
    }
    if (compareTimelines(best.connection.timeline, timeline) < 0) {
      supersededSince ??= performance.now()
      if (performance.now() - supersededSince < SUPERSEDED_MILLISECONDS) {
        for (const { connection } of offers) connection.close()
        throw new UnsafeServer(SUPERSEDED)
      }
    }
    follow(best)
    return best.connection
  }

  /** Leaves the server that is used if there is a better one. One of the same timeline is the same server, by another way. */
  const reconsider = sharedWork(async (): Promise<void> => {
    const offers = await offersOf(false, new Map())
    const [best] = offers.sort(byPreference)
    for (const { connection } of offers) connection.close()
    if (best === undefined || best.server === current) return
    const found = best.connection.timeline
    if (found === null || (found !== timeline && compareTimelines(found, timeline) >= 0)) leading?.destroy()
  })

  return {
    openLeading,
    async open() {
      if (leading === undefined || leading.isLost()) return openLeading({ pipelined: false })
      const connection = await openAt(current, false)
      const promoted = compareTimelines(connection.timeline, timeline)
      if (promoted === 0) return connection
      connection.close()
      // Behind one address there is another server now.
      if (promoted > 0) leading.destroy()
      throw new Error('the address leads to several servers, and to another one than before')
    },
    hasRoom: (reserved = 0) => current.sessions.size + reserved < most,
    processIds: () => Array.from(current.sessions, ({ processId }) => processId),
    waiting: () => Array.from(current.sessions).filter((each) => each.pipelined && each.isLost()).length,
    async close() {
      closed = true
      if (all.every(({ sessions }) => sessions.size === 0)) return
      const deadline = setTimeout(() => {
        for (const server of all) server.leave()
      }, CLOSE_MILLISECONDS)
      await none.promise
      clearTimeout(deadline)
    },
  }
}

/** Positive if the first server was promoted later, 0 if both continue the same history or that is not known. */
function compareTimelines(one: string | null, other: string | null): number {
  const [cluster, number = ''] = one?.split('/') ?? []
  const [otherCluster, otherNumber = ''] = other?.split('/') ?? []
  if (cluster === undefined || cluster !== otherCluster) return 0
  return Number.parseInt(number, 16) - Number.parseInt(otherNumber, 16)
}
