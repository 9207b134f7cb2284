import type { Database } from './database.ts'
import { SERVERS } from './protocol/presence.ts'

/** Every role sees the locks of all roles. Locks of another database may have the same numbers. */
const COUNT = `
  SELECT count(DISTINCT objid)::integer AS count
    FROM pg_locks
   WHERE locktype = 'advisory' AND classid = ${SERVERS} AND objsubid = 2
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

export const countReplicas = ({ transaction }: Pick<Database, 'transaction'>): Promise<number | undefined> =>
  transaction(async (query, direct) => (direct ? ((await query(COUNT)).rows[0]?.count as number) : undefined))
