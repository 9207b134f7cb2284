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
import type { Database } from '../database.ts'
import { finish } from '../nouns.ts'
import { emptyLog, withSecureDelete } from '../wiping.ts'
import type { Operations } from './operations.ts'

const INSERT = `
  INSERT INTO webhook (id, url, customer_id, statuses, ca, give_up, created_at, secret, duplicates, version)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1)`

const INSERT_PROGRESS = `
  INSERT INTO webhook_progress (webhook, epoch, position, generation, confirmed) VALUES ($1, 1, $2, $3, '')`

const PAUSE_ALL = `
  UPDATE webhook SET paused_reason = $1, paused_at = $2, version = version + 1
   WHERE paused_at IS NULL AND ($3 IS NULL OR customer_id = $3)`

const TRY_NOW = `
  UPDATE webhook_progress SET next_try_at = min(coalesce(next_try_at, $1), $1) WHERE webhook = $2`

const SECRETS: Record<SecretRewrap['which'], string> = { secret: 'secret', formerSecret: 'former_secret' }

const findIn = (database: Database, id: string): Webhook | undefined => {
  const row = database.get(FIND_WEBHOOK, id)
  return row && webhookFromRow(row)
}

/** Run by the writer thread. */
export const webhookWrites = {
  add: (database, webhook) =>
    database.transaction(() => {
      const { id, place } = webhook
      database.run(INSERT, ...newWebhookValues(webhook), Number(webhook.duplicates))
      database.run(INSERT_PROGRESS, id, place.position, place.generation)
    }),

  change: (database, id, change) =>
    withSecureDelete(database, () => {
      const webhook = findIn(database, id)
      if (webhook === undefined) return undefined
      database.run(CHANGE_WEBHOOK, ...changedValues(webhook, change))
      if (change.place !== undefined) {
        database.run(SET_PLACE, id, change.place.position, change.place.generation)
        database.run(FORGET_WAITING, id, change.place.position)
      }
      return findIn(database, id)
    }),

  remove: (database, id) =>
    withSecureDelete(database, () => REMOVE_WEBHOOK.map((sql) => database.run(sql, id)).at(-1) === 1),

  pauseAll: (database, reason, at, customerId) =>
    database.transaction(() => database.run(PAUSE_ALL, reason, at, customerId ?? null)),

  replay: (database, id, what, now) =>
    database.transaction(() => {
      if (database.run(COUNT_VERSION, id) === 0) return undefined
      const count =
        what === 'set-aside'
          ? database.run(REPLAY_SET_ASIDE, id, now)
          : database.run(REPLAY_ONE, id, what.position, now)
      if (count > 0) database.run(TRY_NOW, now, id)
      return count
    }),

  rewrap: (database, changes) => {
    const done = withSecureDelete(database, () => {
      const isStill = ({ id, which, from }: SecretRewrap) =>
        database.get(`SELECT 1 FROM webhook WHERE id = $1 AND ${SECRETS[which]} = $2`, id, from) !== undefined
      if (!changes.every(isStill)) return false
      for (const { id, which, to } of changes) {
        database.run(`UPDATE webhook SET ${SECRETS[which]} = $1, version = version + 1 WHERE id = $2`, to, id)
      }
      return true
    })
    // The log would hold the old text until it is overwritten. While another process reads the log, it stays.
    if (done) finish(database, emptyLog())
    return done
  },
} satisfies Operations<WebhookStore>
