import { isoMilliseconds, isoOrNull } from '#src/lib/clock.ts'
import type { NamedDelivery, WebhookAttempt, WebhookMinute, WebhookReplay } from '#src/store/store.ts'
import { headerNames } from '../headers.ts'
import { maskedUrl } from '../masked-url.ts'
import type { DescribedEndpoint } from './describe.ts'
import type { ShownAttempts, ShownEndpoint, WithSecret } from './endpoints.rule.ts'
import type { Told } from './fates.ts'
import { nextTryOf } from './progress.ts'

/** An endpoint as operators see it, never with its secret. */
export const endpointAnswer = (
  { webhook, customer, cursor, replayed, ...progress }: DescribedEndpoint,
  hasAllRights = true,
) => ({
  EndpointID: webhook.id,
  URL: hasAllRights ? webhook.url : maskedUrl(webhook.url),
  CustomerID: webhook.customerId,
  ...(customer !== undefined && { Customer: customer }),
  Statuses: webhook.statuses === null ? null : [...webhook.statuses],
  Duplicates: webhook.duplicates,
  State: progress.standing,
  PausedReason: webhook.paused?.reason ?? null,
  PausedAt: isoOrNull(webhook.paused?.at ?? null),
  Pending: progress.pending,
  PendingAtLeast: progress.pendingAtLeast,
  Waiting: webhook.waiting,
  Failing: webhook.failing,
  SetAside: webhook.setAside,
  PurgedUnsent: webhook.removedUnsent,
  LastSuccessAt: isoOrNull(webhook.lastSuccessAt),
  FailingSince: isoOrNull(webhook.failingSince),
  NextTryAt: isoOrNull(nextTryOf(webhook, webhook.nextTryAt)),
  BehindSeconds: Math.floor(progress.behindMilliseconds / 1000),
  CreatedAt: isoMilliseconds(webhook.createdAt),
  GiveUp: webhook.giveUpMilliseconds === null ? null : webhook.giveUpMilliseconds / 1000,
  HasCA: webhook.ca !== null,
  Headers: headerNames(webhook.headers),
  Cursor: cursor,
  Replay: replayed && replayAnswer(webhook.replay, replayed),
})

type Replayed = NonNullable<DescribedEndpoint['replayed']>

const replayAnswer = (replay: DescribedEndpoint['webhook']['replay'], { from, until }: Replayed) =>
  replay && {
    BeganAt: isoMilliseconds(replay.beganAt),
    From: isoOrNull(from),
    To: isoOrNull(until),
    Statuses: replay.statuses && [...replay.statuses],
    Added: replay.added,
    Percent: percentOf(replay),
  }

/** Of the stretch that was read. */
export const percentOf = ({ from, until, position }: WebhookReplay): number =>
  Math.min(100, Math.floor((100 * (position - from)) / Math.max(1, until - from)))

export const withSecretAnswer = ({ endpoint, secret }: WithSecret) => ({
  Endpoint: endpointAnswer(endpoint),
  Secret: secret,
})

export const shownAnswer = ({ endpoint, failing, setAside }: ShownEndpoint, hasAllRights = true) => ({
  Endpoint: endpointAnswer(endpoint, hasAllRights),
  Failing: failing.map(({ nextAt, ...delivery }) => ({ ...deliveryAnswer(delivery), NextTryAt: isoOrNull(nextAt) })),
  SetAside: setAside.map((delivery) => ({
    ...deliveryAnswer(delivery),
    SetAsideAt: isoMilliseconds(delivery.setAsideAt),
  })),
})

type Waiting = Omit<ShownEndpoint['failing'][number], 'nextAt'>

const deliveryAnswer = ({ receiptId, orderId, failures, firstFailedAt, lastError }: Waiting) => ({
  ReceiptID: receiptId,
  OrderID: orderId,
  Failures: failures,
  FirstFailedAt: isoOrNull(firstFailedAt),
  Error: lastError,
})

export const attemptAnswer = (attempt: WebhookAttempt & Partial<NamedDelivery>) => ({
  At: isoMilliseconds(attempt.at),
  ReceiptID: attempt.receiptId,
  OrderID: attempt.orderId ?? null,
  Test: attempt.position === null,
  Status: attempt.status,
  Error: attempt.error,
  Milliseconds: attempt.milliseconds,
  Response: attempt.response,
  NextTryAt: isoOrNull(attempt.nextAt),
})

const minuteAnswer = ({ minute, succeeded, failed, longestMilliseconds }: WebhookMinute) => ({
  Minute: isoMilliseconds(minute),
  Succeeded: succeeded,
  Failed: failed,
  LongestMilliseconds: longestMilliseconds,
})

/** What hosts, perhaps private ones, answer to tests is for operators with all rights. */
export const attemptsAnswer = ({ attempts, minutes }: ShownAttempts, hasAllRights = true) => ({
  Attempts: attempts.map((attempt) => ({
    ...attemptAnswer(attempt),
    ...(!hasAllRights && attempt.position === null && { Response: null }),
  })),
  Minutes: minutes.map(minuteAnswer),
})

export const toldAnswer = ({ receiptId, delivery, state, at, answer, failures, error, nextTryAt }: Told) => ({
  ReceiptID: receiptId,
  OrderID: delivery?.orderId ?? null,
  Status: delivery?.status ?? null,
  Duplicate: delivery?.duplicate ?? null,
  ReceivedAt: isoOrNull(delivery?.receivedAt ?? null),
  State: state,
  At: isoOrNull(at),
  AnswerStatus: answer?.status ?? null,
  Milliseconds: answer?.milliseconds ?? null,
  Failures: failures,
  Error: error,
  NextTryAt: isoOrNull(nextTryAt),
})
