import { randomInt } from 'node:crypto'
import type { Connection } from './connection.ts'

/** The first number of the advisory locks by which servers are counted. The second one is different for each server. */
export const SERVERS = 7426

/**
 * Returns a function that makes a connection show, until it ends, that a server works on the database. It does nothing behind a
 * pooler, where the lock would stay with a connection of the pooler.
 */
export function createPresence(): (connection: Connection) => Promise<void> {
  const server = randomInt(2 ** 31)
  return async ({ direct, query }) => {
    // A server that is not counted still works.
    if (direct) await query(`SELECT pg_advisory_lock_shared(${SERVERS}, ${server})`).catch(() => undefined)
  }
}
