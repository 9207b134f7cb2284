import { AppError } from '#src/lib/app-error.ts'
import { createProof, type Proof } from '../shared/proof.ts'
import { storeErrors } from '../store.errors.ts'
import type { DeliveryConnection } from './deliveries/delivery-connection.ts'
import type { Values } from './protocol/connection.ts'
import { notReady } from './protocol/failures.ts'

/** What every delivery looks up. A lock of the tables of accounts stops only those that are not cached. */
const VERSION = 'SELECT number FROM account_version'

/** Why one of our sessions waits. Behind a pooler the numbers of its sessions are others, and nothing is found. */
const WAITS = `
  SELECT CASE wait_event WHEN 'SyncRep' THEN 'a commit waits for a synchronous standby'
         ELSE 'another session holds a lock in the database (process ' || array_to_string(holders, ', ') || ')' END AS reason
    FROM (SELECT wait_event, ARRAY(SELECT unnest(pg_blocking_pids(pid)) EXCEPT SELECT unnest($1::integer[])) AS holders
            FROM pg_stat_activity WHERE pid = ANY ($1::integer[])) s
   WHERE wait_event = 'SyncRep' OR cardinality(holders) > 0 LIMIT 1`

type Query = (sql: string, ...values: Values) => Promise<{ readonly rows: readonly Record<string, unknown>[] }>

export interface ReadinessOptions {
  readonly deliveries: Pick<DeliveryConnection, 'tryStatements' | 'storeProof'>
  readonly query: Query
  readonly lookUpFirst: Query
  /** The processes of our sessions at the server. */
  processIds(): number[]
}

/** Knows whether the database stores deliveries. */
export const createReadiness = ({ deliveries, query, lookUpFirst, processIds }: ReadinessOptions): Proof =>
  createProof({
    async probe(durable) {
      await Promise.all([deliveries.tryStatements(), lookUpFirst(VERSION)])
      if (durable) await deliveries.storeProof()
    },
    explain: async () => (await query(WAITS, processIds())).rows[0]?.reason as string | undefined,
    refusal: (reason) =>
      new AppError(storeErrors.unavailable, { reason, message: `The store cannot take anything: ${reason}.` }),
  })

export function refuseReadiness(error: unknown): never {
  if (!(error instanceof AppError)) throw notReady(error)
  throw error.details.message === undefined ? notReady(error.details.cause) : error
}
