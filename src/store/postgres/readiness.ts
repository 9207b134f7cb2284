import { AppError, reasonOf } from '#src/lib/app-error.ts'
import { createProof, type Proof } from '../proof.ts'
import { storeErrors } from '../store.errors.ts'
import type { Query } from './connection/connection.ts'
import { isLost, notReady, unavailable } from './connection/failures.ts'
import type { DeliveryConnection } from './deliveries/delivery-connection.ts'

/** What every delivery looks up. A lock of the tables of accounts stops only those that are not cached. */
const VERSION = 'SELECT number FROM account_version'

/** Why one of our sessions waits. Behind a pooler the numbers of its sessions are others, and nothing is found. */
const WAITS = `
  SELECT CASE wait_event WHEN 'SyncRep' THEN 'a commit waits for a synchronous standby'
         ELSE 'another session holds a lock in the database (process ' || array_to_string(holders, ', ') || ')' END AS reason
    FROM (SELECT wait_event, ARRAY(SELECT unnest(pg_blocking_pids(pid)) EXCEPT SELECT unnest($1::integer[])) AS holders
            FROM pg_stat_activity WHERE pid = ANY ($1::integer[])) s
   WHERE wait_event = 'SyncRep' OR cardinality(holders) > 0 LIMIT 1`

interface ReadinessOptions {
  readonly deliveries: Pick<DeliveryConnection, 'tryStatements' | 'storeProof'>
  readonly query: Query
  readonly lookUpFirst: Query
  /** The processes of our sessions at the server. */
  processIds(): number[]
  /** Within this time every query of a reader is answered by a server that works, however many readers there are. */
  readonly answerMilliseconds: number
}

export interface Readiness extends Proof {
  /** Runs a query of a reader. Any answer to it shows that reads work. */
  watchRead<Result>(read: Promise<Result>): Promise<Result>
}

/** Knows whether the database stores deliveries, and answers readers. */
export function createReadiness(options: ReadinessOptions): Readiness {
  const { deliveries, query, lookUpFirst, processIds, answerMilliseconds } = options
  let answeredAt = Number.NEGATIVE_INFINITY
  const isRead = () => performance.now() - answeredAt < answerMilliseconds

  const tryAll = async (durable: boolean): Promise<void> => {
    await Promise.all([deliveries.tryStatements(), lookUpFirst(VERSION), isRead() || query('SELECT')])
    if (durable) await deliveries.storeProof()
  }

  const proof = createProof({
    probe: (durable) => tryAll(durable).catch(refuseReadiness),
    isDoubtful: () => !isRead(),
    explain: async () =>
      isRead()
        ? ((await query(WAITS, processIds())).rows[0]?.reason as string | undefined)
        : 'no query of a reader was answered for a while',
    refusal,
  })
  return {
    ...proof,
    settled: (read) => proof.settled(read).catch(refuseCaller),
    async watchRead(read) {
      const [outcome] = await Promise.allSettled([read])
      if (outcome.status === 'fulfilled' || !isLost(outcome.reason)) answeredAt = performance.now()
      return read
    },
  }
}

const refusal = (reason: string): AppError =>
  new AppError(storeErrors.unavailable, { reason, message: `The store cannot take anything: ${reason}.` })

/** Callers get the usual text instead of the one for operators. */
function refuseCaller(error: unknown): never {
  if (!(error instanceof AppError) || error.details.message === undefined) throw error
  throw unavailable(error.details.cause ?? new Error(reasonOf(error)))
}

export function refuseReadiness(error: unknown): never {
  if (!(error instanceof AppError)) throw notReady(error)
  throw error.details.message === undefined ? notReady(error.details.cause) : error
}
