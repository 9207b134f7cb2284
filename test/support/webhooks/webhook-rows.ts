import type { Confirmation, WaitingDelivery, WebhookAttempt, WebhookSave } from '#src/store/store.ts'
import { nextNumber } from '../store/store-rows.ts'

export const NOW = 1_763_726_400_123
export const DAY = 86_400_000
/** Longer than any test takes. */
export const LONG = 600_000
export const ALL = 1000

export const holderName = (): string => `holder-${nextNumber()}`

export const save = (id: string, more: Partial<WebhookSave> = {}): WebhookSave => ({
  id,
  position: 0,
  confirmed: [],
  kept: [],
  settled: [],
  attempts: [],
  minutes: [],
  lastSuccessAt: null,
  silentUntil: null,
  hurry: false,
  gone: null,
  ifVersion: null,
  ...more,
})

export const waiting = (position: number, more: Partial<WaitingDelivery> = {}): WaitingDelivery => ({
  position,
  lane: -position,
  failures: 1,
  firstFailedAt: NOW,
  nextAt: NOW + 1000,
  setAsideAt: null,
  lastError: 'status 500',
  answered: true,
  ...more,
})

/** One that was never tried. */
export const untried = (position: number, more: Partial<WaitingDelivery> = {}): WaitingDelivery =>
  waiting(position, { failures: 0, firstFailedAt: null, nextAt: null, lastError: null, answered: false, ...more })

export const confirmation = (position: number, more: Partial<Confirmation> = {}): Confirmation => ({
  position,
  status: 200,
  milliseconds: 12,
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
