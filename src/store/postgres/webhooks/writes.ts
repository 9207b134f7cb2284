import { newWebhookValues } from '#src/store/shared/webhook-saves.ts'
import {
  CHANGE_WEBHOOK,
  COUNT_VERSION,
  changedValues,
  FIND_WEBHOOK,
  FORGET_WAITING,
  REMOVE_WEBHOOK,
  REPLAY_ONE,
  REPLAY_SET_ASIDE,
  SET_PLACE,
  webhookFromRow,
} from '#src/store/shared/webhooks.ts'
import type { SecretRewrap, Webhook, WebhookStore } from '#src/store/store.ts'
import { columnsOf, type Database, type Query } from '../database.ts'

const INSERT = `
  WITH added AS (
    INSERT INTO webhook (id, url, customer_id, statuses, ca, give_up, created_at, secret, duplicates, version)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1)
    RETURNING id
  )
  INSERT INTO webhook_progress (webhook, epoch, position, generation, confirmed) SELECT id, 1, $10::bigint, $11::bigint, '' FROM added`

/** Holders lock this row first, and the one in `webhook` after it. */
const LOCK_PROGRESS = 'SELECT FROM webhook_progress WHERE webhook = $1 FOR UPDATE'
const LOCK = 'SELECT FROM webhook WHERE id = $1 FOR UPDATE'

const PAUSE_ALL = `
  WITH locked AS MATERIALIZED (
    SELECT id FROM webhook WHERE paused_at IS NULL AND ($3::text IS NULL OR customer_id = $3) ORDER BY id FOR UPDATE
  )
  UPDATE webhook w SET paused_reason = $1, paused_at = $2, version = version + 1 FROM locked WHERE w.id = locked.id`

const TRY_NOW = 'UPDATE webhook_progress SET next_try_at = least(next_try_at, $2) WHERE webhook = $1'

const LOCK_SECRETS = 'SELECT id, secret, former_secret FROM webhook WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE'

const REWRAP = (column: string): string => `
  UPDATE webhook SET ${column} = change.becomes, version = version + 1
    FROM unnest($1::text[], $2::text[]) AS change (id, becomes) WHERE webhook.id = change.id`

const SECRETS: Record<SecretRewrap['which'], string> = { secret: 'secret', formerSecret: 'former_secret' }

const isThere = async (query: Query, id: string): Promise<boolean> =>
  (await query(LOCK_PROGRESS, id)).count > 0 && (await query(LOCK, id)).count > 0

const findBy = async (query: Query, id: string): Promise<Webhook> =>
  webhookFromRow((await query(FIND_WEBHOOK, id)).rows[0] ?? {})

type WebhookWrites = Pick<WebhookStore, 'add' | 'change' | 'remove' | 'pauseAll' | 'replay' | 'rewrap'>

export const webhookWrites = ({ query, transaction }: Database): WebhookWrites => ({
  async add(webhook) {
    const { duplicates, place } = webhook
    await query(INSERT, ...newWebhookValues(webhook), duplicates, place.position, place.generation)
  },

  change: (id, change) =>
    transaction(async (query) => {
      if (!(await isThere(query, id))) return undefined
      await query(CHANGE_WEBHOOK, ...changedValues(await findBy(query, id), change))
      if (change.place !== undefined) {
        await query(SET_PLACE, id, change.place.position, change.place.generation)
        await query(FORGET_WAITING, id, change.place.position)
      }
      return findBy(query, id)
    }),

  remove: (id) =>
    transaction(async (query) => {
      let removed = 0
      for (const sql of REMOVE_WEBHOOK) removed = (await query(sql, id)).count
      return removed > 0
    }),

  pauseAll: async (reason, at, customerId) => (await query(PAUSE_ALL, reason, at, customerId ?? null)).count,

  replay: (id, what, now) =>
    transaction(async (query) => {
      if (!(await isThere(query, id))) return undefined
      await query(COUNT_VERSION, id)
      const { count } =
        what === 'set-aside' ? await query(REPLAY_SET_ASIDE, id, now) : await query(REPLAY_ONE, id, what.position, now)
      if (count > 0) await query(TRY_NOW, id, now)
      return count
    }),

  rewrap: (changes) =>
    transaction(async (query) => {
      const { rows } = await query(LOCK_SECRETS, [...new Set(changes.map(({ id }) => id))])
      const found = new Map(rows.map((row) => [row.id, row]))
      if (!changes.every(({ id, which, from }) => found.get(id)?.[SECRETS[which]] === from)) return false
      for (const [which, column] of Object.entries(SECRETS)) {
        const some = changes.filter((change) => change.which === which)
        if (some.length > 0) await query(REWRAP(column), ...columnsOf(some, 'id', 'to'))
      }
      return true
    }),
})
