import type { NewWebhook, WaitingDelivery, WebhookAttempt, WebhookSave } from '../store.ts'
import { offsetsColumn } from './webhooks.ts'

/** A save with its columns, which both databases take under these names. */
export type SavedWebhook = ReturnType<typeof savedWebhook>

export const savedWebhook = (save: WebhookSave) => ({
  id: save.id,
  epoch: save.epoch,
  position: save.place.position,
  generation: save.place.generation,
  confirmed: offsetsColumn(save.confirmed, save.place.position),
  last_success_at: whole(save.lastSuccessAt),
  failing_since: whole(save.failingSince),
  next_try_at: whole(save.nextTryAt),
  gone: save.gone,
  // The last word on a position counts.
  waiting: [...new Map(save.waiting.map((each) => [each.position, savedWaiting(each)])).values()],
  settled: save.settled,
  attempts: save.attempts.map(savedAttempt),
  minutes: save.minutes.map(({ minute, succeeded, failed, longestMilliseconds }) => ({
    minute,
    succeeded,
    failed,
    longest: whole(longestMilliseconds),
  })),
})

const savedWaiting = ({ position, failures, firstFailedAt, nextAt, setAsideAt, lastError }: WaitingDelivery) => ({
  position,
  failures,
  first_failed_at: whole(firstFailedAt),
  next_at: whole(nextAt),
  set_aside_at: whole(setAsideAt),
  last_error: storable(lastError),
})

export type SavedAttempt = ReturnType<typeof savedAttempt>

export const savedAttempt = (attempt: WebhookAttempt) => ({
  at: whole(attempt.at),
  position: attempt.position,
  receipt: attempt.receiptId,
  status: attempt.status,
  error: storable(attempt.error),
  milliseconds: whole(attempt.milliseconds),
  response: storable(attempt.response),
  next_at: whole(attempt.nextAt),
})

/** The columns of a new endpoint except its place, in the order of the tables. */
export const newWebhookValues = (webhook: NewWebhook) =>
  [
    webhook.id,
    webhook.url,
    webhook.customerId,
    webhook.statuses?.join() ?? null,
    webhook.ca,
    webhook.giveUpMilliseconds,
    webhook.createdAt,
    webhook.secret,
  ] as const

/** Times and pauses are computed with fractions; the columns take none. */
const whole = <Time extends number | null>(time: Time): Time => (time === null ? time : (Math.round(time) as Time))

/** PostgreSQL stores neither NUL nor half of a surrogate pair. */
const storable = (text: string | null): string | null => text?.toWellFormed().replaceAll('\0', '\ufffd') ?? null
