import { isoMilliseconds } from '#src/lib/clock.ts'
import type { WebhookAttempt, WebhookMinute } from '#src/store/store.ts'
import type { DescribedEndpoint, ShownAttempts, ShownEndpoint, WithSecret } from './endpoints.rule.ts'

const iso = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : isoMilliseconds(milliseconds)

/** An endpoint as operators see it, never with its secret. The query of its URL may hold a token. */
export const endpointAnswer = (
  { webhook, pending, behindMilliseconds, cursor }: DescribedEndpoint,
  hasAllRights = true,
) => ({
  EndpointID: webhook.id,
  URL: hasAllRights ? webhook.url : webhook.url.replace(/\?.*/s, '?***'),
  CustomerID: webhook.customerId,
  Statuses: webhook.statuses === null ? null : [...webhook.statuses],
  Duplicates: webhook.duplicates,
  State: webhook.paused === null ? ('active' as const) : ('paused' as const),
  PausedReason: webhook.paused?.reason ?? null,
  PausedAt: iso(webhook.paused?.at ?? null),
  Pending: pending,
  Waiting: webhook.waiting,
  SetAside: webhook.setAside,
  LastSuccessAt: iso(webhook.lastSuccessAt),
  FailingSince: iso(webhook.failingSince),
  NextTryAt: iso(webhook.nextTryAt),
  BehindSeconds: Math.floor(behindMilliseconds / 1000),
  CreatedAt: isoMilliseconds(webhook.createdAt),
  GiveUp: webhook.giveUpMilliseconds === null ? null : webhook.giveUpMilliseconds / 1000,
  HasCA: webhook.ca !== null,
  Cursor: cursor,
})

export const withSecretAnswer = ({ endpoint, secret }: WithSecret) => ({
  Endpoint: endpointAnswer(endpoint),
  Secret: secret,
})

export const shownAnswer = ({ endpoint, failing, setAside }: ShownEndpoint, hasAllRights = true) => ({
  Endpoint: endpointAnswer(endpoint, hasAllRights),
  Failing: failing.map(({ nextAt, ...delivery }) => ({ ...deliveryAnswer(delivery), NextTryAt: iso(nextAt) })),
  SetAside: setAside.map((delivery) => ({
    ...deliveryAnswer(delivery),
    SetAsideAt: isoMilliseconds(delivery.setAsideAt),
  })),
})

type Waiting = Omit<ShownEndpoint['failing'][number], 'nextAt'>

const deliveryAnswer = ({ receiptId, failures, firstFailedAt, lastError }: Waiting) => ({
  ReceiptID: receiptId,
  Failures: failures,
  FirstFailedAt: iso(firstFailedAt),
  Error: lastError,
})

export const attemptAnswer = (attempt: WebhookAttempt) => ({
  At: isoMilliseconds(attempt.at),
  ReceiptID: attempt.receiptId,
  Test: attempt.position === null,
  Status: attempt.status,
  Error: attempt.error,
  Milliseconds: attempt.milliseconds,
  Response: attempt.response,
  NextTryAt: iso(attempt.nextAt),
})

const minuteAnswer = ({ minute, succeeded, failed, longestMilliseconds }: WebhookMinute) => ({
  Minute: isoMilliseconds(minute),
  Succeeded: succeeded,
  Failed: failed,
  LongestMilliseconds: longestMilliseconds,
})

export const attemptsAnswer = ({ attempts, minutes, mayBePrivate }: ShownAttempts, hasAllRights = true) => ({
  Attempts: attempts.map((attempt) => ({
    ...attemptAnswer(attempt),
    ...(mayBePrivate && !hasAllRights && attempt.position === null && { Response: null }),
  })),
  Minutes: minutes.map(minuteAnswer),
})
