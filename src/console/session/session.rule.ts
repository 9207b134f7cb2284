import { hash } from 'node:crypto'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { newId, type Random } from '#src/lib/random.ts'
import type { ConsoleSession, ConsoleSessionStore, Customer } from '#src/store/store.ts'
import { isReference, newReference } from './cookie.ts'
import { sessionErrors } from './session.errors.ts'

const IDLE_MILLISECONDS = 30 * 60_000
export const LONGEST_MILLISECONDS = 12 * 3_600_000
const TOKEN_MILLISECONDS = 5 * 60_000
const MOST_OF_AN_OPERATOR = 10
const MAX_AGENT_LENGTH = 200

interface SessionDependencies {
  readonly sessions: ConsoleSessionStore
  readonly clock: Clock
  readonly random: Random
}

interface Beginning {
  readonly customer: Customer
  readonly region: string
  readonly address: string
  /** The User-Agent header. */
  readonly agent: string
  /** What cookies of the browser hold; their sessions end. */
  readonly formers: readonly string[]
}

/** The sessions of the console. A browser knows its session by a random reference, of which only the digest is stored. */
export function createSessions({ sessions, clock, random }: SessionDependencies) {
  /** Only reads: anybody may send a reference, and what is none must not make the store write. */
  const findLive = async (reference: string): Promise<ConsoleSession | undefined> => {
    const digest = digestIn(reference)
    return digest && sessions.find(digest, clock.now())
  }

  return {
    async begin({ customer, region, address, agent, formers }: Beginning) {
      const now = clock.now()
      const reference = newReference(random)
      const session: ConsoleSession = {
        id: newId(now, random),
        digest: digestOf(reference),
        customerId: customer.id,
        region,
        authAt: now,
        idleUntil: now + IDLE_MILLISECONDS,
        endsAt: now + LONGEST_MILLISECONDS,
        address,
        agent: agent.slice(0, MAX_AGENT_LENGTH),
      }
      const { tokenGeneration } = customer
      const ending = formers.flatMap((former) => digestIn(former) ?? [])
      const how = { tokenGeneration, formers: ending, most: MOST_OF_AN_OPERATOR, now }
      // The password was changed, or the like, since it was verified.
      if (!(await sessions.begin(session, how))) throw new AppError(sessionErrors.ended, { customerId: customer.id })
      return { reference, session }
    },

    /** Finds a session, which lasts longer if somebody is there. */
    async find(reference: string, isActive: boolean): Promise<ConsoleSession | undefined> {
      const session = await findLive(reference)
      const now = clock.now()
      return session && isActive ? sessions.renew(session.digest, now + IDLE_MILLISECONDS, now) : session
    },

    async end(reference: string): Promise<void> {
      const session = await findLive(reference)
      if (session !== undefined) await sessions.end(session.digest)
    },

    /** What a token of the session says, which ends with it or in five minutes. */
    tokenOf: ({ id, authAt, idleUntil }: ConsoleSession) => ({
      id,
      authAt: Math.floor(authAt / 1000),
      until: Math.floor(Math.min(idleUntil, clock.now() + TOKEN_MILLISECONDS) / 1000),
    }),
  }
}

const digestOf = (reference: string): Buffer => hash('sha256', reference, 'buffer')
const digestIn = (reference: string): Buffer | undefined => (isReference(reference) ? digestOf(reference) : undefined)
