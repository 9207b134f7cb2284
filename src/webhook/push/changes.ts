import type {
  Confirmation,
  Laned,
  WaitingDelivery,
  WebhookAttempt,
  WebhookMinute,
  WebhookSave,
} from '#src/store/store.ts'

/** What is to be stored of one delivery: how it waits, or that it waits no longer. */
export type Change = { readonly lane: number; readonly row: WaitingDelivery | null }

/** What happened since the last save. */
export interface Changes {
  readonly confirmed: Confirmation[]
  /** By position. */
  readonly kept: Map<number, Change>
  readonly attempts: WebhookAttempt[]
  /** Every attempt is counted. */
  readonly minutes: WebhookMinute[]
  lastSuccessAt: number | null
  hurry: boolean
  gone: boolean
  /** Some of it may be stored already. */
  isRepeated: boolean
}

/** A number says which save it is. */
export interface Save {
  readonly number: number
  readonly changes: Changes
  readonly stored: WebhookSave
}

const MINUTE_MILLISECONDS = 60_000
/** The store keeps no more. */
const MAX_ATTEMPTS = 500

export const noChanges = (): Changes => ({
  confirmed: [],
  kept: new Map(),
  attempts: [],
  minutes: [],
  lastSuccessAt: null,
  hurry: false,
  gone: false,
  isRepeated: false,
})

export const isEmpty = ({ kept, minutes }: Changes): boolean => kept.size + minutes.length === 0

export function countAttempt({ minutes }: Changes, at: number, succeeded: boolean, milliseconds: number): void {
  const minute = Math.floor(at / MINUTE_MILLISECONDS) * MINUTE_MILLISECONDS
  const before = minutes.at(-1)?.minute === minute ? minutes.pop() : undefined
  minutes.push({
    minute,
    succeeded: (before?.succeeded ?? 0) + Number(succeeded),
    failed: (before?.failed ?? 0) + Number(!succeeded),
    longestMilliseconds: Math.max(before?.longestMilliseconds ?? 0, milliseconds),
  })
}

/** A delivery that was never tried replaces nothing, in the store as here. */
export function keepIn(kept: Changes['kept'], position: number, change: Change): void {
  if (change.row?.failures !== 0 || !kept.get(position)?.row) kept.set(position, change)
}

/** Puts earlier changes, which may be stored or not, before later ones. */
export function repeated(earlier: Changes, later: Changes): Changes {
  const kept = new Map(earlier.kept)
  for (const [position, change] of later.kept) keepIn(kept, position, change)
  return {
    confirmed: [...earlier.confirmed, ...later.confirmed],
    kept,
    attempts: [...earlier.attempts, ...later.attempts].slice(-MAX_ATTEMPTS),
    minutes: [...earlier.minutes, ...later.minutes],
    lastSuccessAt: later.lastSuccessAt ?? earlier.lastSuccessAt,
    hurry: earlier.hurry || later.hurry,
    gone: earlier.gone || later.gone,
    isRepeated: true,
  }
}

/** As the store takes it. */
export function savedAs({ kept, attempts, isRepeated, ...rest }: Changes, version: number) {
  const rows: WaitingDelivery[] = []
  const settled: Laned[] = []
  for (const [position, { lane, row }] of kept) row === null ? settled.push({ position, lane }) : rows.push(row)
  const ifVersion = isRepeated ? version : null
  return { ...rest, kept: rows, settled, attempts: attempts.slice(-MAX_ATTEMPTS), ifVersion }
}
