import type { WaitingDelivery, WebhookAttempt, WebhookSave } from '#src/store/store.ts'
import { nextNumber } from './store-rows.ts'

export const NOW = 1_763_726_400_123
export const DAY = 86_400_000
/** Longer than any test takes. */
export const LONG = 600_000
export const ALL = 1000

export const holderName = (): string => `holder-${nextNumber()}`

export const save = (id: string, more: Partial<WebhookSave> = {}): WebhookSave => ({
  id,
  epoch: 1,
  place: { position: 0, generation: 0 },
  confirmed: [],
  waiting: [],
  settled: [],
  attempts: [],
  minutes: [],
  lastSuccessAt: null,
  failingSince: null,
  nextTryAt: null,
  gone: false,
  ...more,
})

export const waiting = (position: number, more: Partial<WaitingDelivery> = {}): WaitingDelivery => ({
  position,
  failures: 1,
  firstFailedAt: NOW,
  nextAt: NOW + 1000,
  setAsideAt: null,
  lastError: 'status 500',
  ...more,
})

export const attempt = (more: Partial<WebhookAttempt> = {}): WebhookAttempt => ({
  at: NOW,
  position: null,
  receiptId: null,
  status: 500,
  error: 'status 500',
  milliseconds: 12,
  response: 'Oops.',
  nextAt: NOW + 1000,
  ...more,
})
