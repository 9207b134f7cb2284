import { AppError } from '#src/lib/app-error.ts'
import type { Text } from '#src/lib/messages/message.ts'
import {
  deleteBlocks,
  type OwnSteps,
  purgeStateFromRow,
  purgeStore,
  purges,
  type Removed,
  type SharedSteps,
} from '../sql/purges.ts'
import { unsentDeliveries } from '../sql/unsent.ts'
import { change, get, type Noun, queue, run, type Work } from '../sql/work.ts'
import { storeErrors } from '../store.errors.ts'
import type { PurgeStore, RollUpStore } from '../store.ts'
import type { Database, Row } from './database.ts'
import { LOST } from './deliveries/lost.ts'
import { MAY_NOT_ERASE, postgres } from './dialect.ts'
import { finish, postgresNoun } from './nouns.ts'

const STATE = `
  SELECT generation, position, announced, began_at AS lost_at, last_position AS last_left
    FROM purge LEFT JOIN (${LOST('$1::bigint')}) l ON true`

const MAY_EXECUTE = `SELECT has_function_privilege($1::regproc, 'EXECUTE') AS may`

/** A function, for the lock of deliveries and because the role of the service may not delete them itself. */
const REMOVE = `
  SELECT deliveries, orders, bytes, CASE WHEN $4 THEN positions END AS positions FROM purge_1($1::uuid[], $2::bigint[], $3)`
/** Before the function takes the lock of deliveries, so that they wait neither for a holder that saves nor for what `settling` reads. */
const LOCK_PROGRESS = 'SELECT FROM webhook_progress WHERE webhook = ANY ($1::text[]) ORDER BY webhook FOR UPDATE'

type Remove = OwnSteps['remove']

const { settling } = unsentDeliveries(postgres)

function* removeFound(...[found, { after, before, now }]: Parameters<Remove>): Work<Removed> {
  const { keys, latests, last, unsent } = found
  const webhooks = unsent.map(({ webhook }) => webhook)
  if (webhooks.length > 0) yield* run(LOCK_PROGRESS, webhooks)
  const settle = yield* settling(unsent, { after, last, now })
  const row = (yield* get(REMOVE, keys, latests, before, webhooks.length > 0)) as Row
  const gone = new Set((row.positions as readonly unknown[] | null)?.map(Number))
  return {
    deliveries: Number(row.deliveries),
    orders: Number(row.orders),
    payloadBytes: Number(row.bytes),
    unsent: yield* settle(gone),
  }
}

/** One statement if everything was sent; else several, which find what waits by indexes. */
const removals: Noun<{ removeSent: Remove; removeUnsent: Remove }> = {
  removeSent: change(removeFound),
  removeUnsent: queue(removeFound),
}

const ERASE = 'SELECT erase_1($1::uuid[], $2) AS erased'

const MONTHS_AHEAD = 3

/** PostgreSQL gives room back by itself (autovacuum), or with whole months, and looks after its own pages. */
export function postgresPurges(database: Database, rollUps: Pick<RollUpStore, 'count'>): PurgeStore {
  const { query, followedAnew } = database
  const { removeSent, removeUnsent } = postgresNoun(removals, database)
  const shared = postgresNoun(purges(postgres), database)

  const requireRight = async (name: string, message: Text = storeErrors.forbidden.message): Promise<void> => {
    if ((await query(MAY_EXECUTE, name)).rows[0]?.may !== true) throw new AppError(storeErrors.forbidden, { message })
  }

  const steps: SharedSteps & OwnSteps = {
    ...shared,
    async state(place = 0) {
      const state = purgeStateFromRow((await query(STATE, place)).rows[0] as Row)
      if (state.lost === null || state.lost.at !== null) return state
      // A primary that was superseded has not got what came after it.
      return purgeStateFromRow((await followedAnew(STATE, place)).rows[0] as Row)
    },
    async removable(page) {
      // Before a purge is announced.
      if (page.dryRun && page.after === 0) await requireRight('purge_1')
      return shared.removable(page)
    },
    async remove(found, page) {
      const removed = await (found.unsent.length === 0 ? removeSent : removeUnsent)(found, page)
      // Deliveries need not wait for this.
      await finish(query, deleteBlocks(postgres, page.after, found.last))
      return removed
    },
    giveBack: async () => false,
    rewrite: async () => undefined,
    async keepMonths(before) {
      const made = (await query('SELECT make_months_1($1) AS made', MONTHS_AHEAD)).rows[0]?.made as number
      const dropped: string[] = []
      if (before > 0) await requireRight('drop_months_1')
      while (before > 0) {
        const [row] = (await query('SELECT drop_months_1($1) AS name', before)).rows
        if (row === undefined) break
        dropped.push(row.name as string)
      }
      return { made, dropped }
    },
    async announceErasure() {
      await requireRight('erase_1', MAY_NOT_ERASE)
      return shared.announceErasure()
    },
    erase: async (keys, withOrderIds) => Number((await query(ERASE, keys, withOrderIds)).rows[0]?.erased),
    wipePages: async () => null,
    wipeLog: async () => undefined,
  }
  return purgeStore(steps, rollUps)
}
