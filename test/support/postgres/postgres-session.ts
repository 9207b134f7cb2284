import pg from 'pg'
import { inject } from 'vitest'
import { atTheEnd } from '../at-the-end.ts'
import { until } from '../until.ts'
import { newDatabase, runSql } from './postgres-server.ts'

/** The URL of an empty store of its own on the server of the run: a copy, which is made in a third of the time that the schema takes. */
export const newPostgresStore = (): Promise<string> => newDatabase(inject('postgresUrl'), inject('emptyStore'))

/** A connection that ends with the test, or the test file: for transactions that are left open. */
export async function session(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  atTheEnd(() => client.end())
  return client
}

/** How many sessions of a database wait for a lock. */
export const waitingIn = async (url: string): Promise<number> =>
  (await runSql(url, `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`))
    .length

export const untilWaiting = (url: string, sessions = 1): Promise<void> =>
  until(`${sessions} wait for a lock`, async () => (await waitingIn(url)) >= sessions)

interface Delivery {
  readonly customerId: string
  readonly receiptId: string
  readonly orderId: string | null
  readonly status: number
  readonly receivedAt: number
  readonly idempotency: { readonly key: string; readonly notBefore: number } | null
  readonly payload: Uint8Array
}

/** Delivers in the transaction of a session, as a slow replica does. Resolves to the outcomes that are not "stored". */
export async function deliverBy(client: pg.Client, delivery: Delivery): Promise<unknown[]> {
  const { customerId, receiptId, orderId, status, receivedAt, idempotency, payload } = delivery
  const { rows } = await client.query(
    `SELECT place, outcome FROM deliver_1(ARRAY[(SELECT number FROM customer WHERE id = $1)], ARRAY[$2::uuid], ARRAY[$3], ARRAY[$4::smallint],
       ARRAY[$5::bigint], ARRAY[$6], ARRAY[$7::bigint], ARRAY[NULL::integer], ARRAY[1], ARRAY[true], ARRAY[1], ARRAY[$8::integer], $9,
       ARRAY[NULL::bytea])`,
    [
      ...[customerId, receiptId, orderId, status, receivedAt, idempotency?.key ?? null, idempotency?.notBefore ?? null],
      ...[payload.length, payload],
    ],
  )
  return rows
}
