import type { Confirmation, WaitingDelivery, WebhookAttempt, WebhookMinute, WebhookSave } from '#src/store/store.ts'

/** What is to be stored of one delivery: how it waits, or that it waits no longer. */
export type Change = { readonly lane: number; readonly row: WaitingDelivery | null }

/** What happened since the last save. */
export interface Changes {
  readonly confirmed: Confirmation[]
  /** By position. */
  readonly kept: Map<number, Change>
  readonly attempts: WebhookAttempt[]
  readonly minutes: Map<number, WebhookMinute>
  lastSuccessAt: number | null
  hurry: boolean
  gone: boolean
}

const MINUTE_MILLISECONDS = 60_000
/** The store keeps no more. */
const MAX_ATTEMPTS = 500

export const noChanges = (): Changes => ({
  confirmed: [],
  kept: new Map(),
  attempts: [],
  minutes: new Map(),
  lastSuccessAt: null,
  hurry: false,
  gone: false,
})

/** Every attempt is counted in a minute. */
export const isEmpty = ({ kept, minutes }: Changes): boolean => kept.size + minutes.size === 0

export const countAttempt = (changes: Changes, at: number, succeeded: boolean, milliseconds: number): void =>
  addMinute(changes.minutes, {
    minute: Math.floor(at / MINUTE_MILLISECONDS) * MINUTE_MILLISECONDS,
    succeeded: Number(succeeded),
    failed: Number(!succeeded),
    longestMilliseconds: milliseconds,
  })

function addMinute(minutes: Map<number, WebhookMinute>, one: WebhookMinute): void {
  const before = minutes.get(one.minute)
  const sum = before && {
    minute: one.minute,
    succeeded: before.succeeded + one.succeeded,
    failed: before.failed + one.failed,
    longestMilliseconds: Math.max(before.longestMilliseconds, one.longestMilliseconds),
  }
  minutes.set(one.minute, sum ?? one)
}

/** A delivery that was never tried replaces nothing, in the store as here. */
export function keepIn(kept: Changes['kept'], position: number, change: Change): void {
  if (change.row?.failures !== 0 || !kept.get(position)?.row) kept.set(position, change)
}

/** Puts earlier changes, which may not be stored, before later ones. */
export function together(earlier: Changes, later: Changes): Changes {
  const minutes = new Map(earlier.minutes)
  for (const minute of later.minutes.values()) addMinute(minutes, minute)
  const kept = new Map(earlier.kept)
  for (const [position, change] of later.kept) keepIn(kept, position, change)
  return {
    confirmed: [...earlier.confirmed, ...later.confirmed],
    kept,
    attempts: [...earlier.attempts, ...later.attempts].slice(-MAX_ATTEMPTS),
    minutes,
    lastSuccessAt: later.lastSuccessAt ?? earlier.lastSuccessAt,
    hurry: earlier.hurry || later.hurry,
    gone: earlier.gone || later.gone,
  }
}

/** A number says which save it is. */
export interface Save {
  readonly number: number
  readonly position: number
  readonly silentUntil: number | null
  readonly changes: Changes
}

export function savedAs(id: string, { position, silentUntil, changes }: Save): WebhookSave {
  const { kept, minutes, attempts, ...rest } = changes
  const rows: WaitingDelivery[] = []
  const settled: { readonly position: number; readonly lane: number }[] = []
  for (const [at, { lane, row }] of kept) row === null ? settled.push({ position: at, lane }) : rows.push(row)
  const last = attempts.slice(-MAX_ATTEMPTS)
  return { id, position, silentUntil, ...rest, kept: rows, settled, attempts: last, minutes: [...minutes.values()] }
}
