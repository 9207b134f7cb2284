import type {
  Confirmation,
  Laned,
  WaitingDelivery,
  WebhookAttempt,
  WebhookMinute,
  WebhookSave,
} from '#src/store/store.ts'

/** What is to be stored of one delivery: how it waits, or that it waits no longer. */
type Change = { readonly lane: number; readonly row: WaitingDelivery | null }

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

const noChanges = (): Changes => ({
  confirmed: [],
  kept: new Map(),
  attempts: [],
  minutes: [],
  lastSuccessAt: null,
  hurry: false,
  gone: false,
  isRepeated: false,
})

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
function keepIn(kept: Changes['kept'], position: number, change: Change): void {
  if (change.row?.failures !== 0 || !kept.get(position)?.row) kept.set(position, change)
}

/** Puts earlier changes, which may be stored or not, before later ones. */
function repeated(earlier: Changes, later: Changes): Changes {
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
function savedAs({ kept, attempts, isRepeated, ...rest }: Changes, version: number) {
  const rows: WaitingDelivery[] = []
  const settled: Laned[] = []
  for (const [position, { lane, row }] of kept) row === null ? settled.push({ position, lane }) : rows.push(row)
  const ifVersion = isRepeated ? version : null
  return { ...rest, kept: rows, settled, attempts: attempts.slice(-MAX_ATTEMPTS), ifVersion }
}

/** Collects what is to be stored, and knows what a query may not know of it. */
export function createChanges(id: string, version: number) {
  let changes = noChanges()
  /** The number of the next save, and of the last one that was stored. */
  let number = 1
  let stored = 0
  /** The save by which a lane changes: a query that began before that was stored knows nothing of it. */
  const changedIn = new Map<number, number>()

  return {
    sinceSave: (): Changes => changes,
    isEmpty: (): boolean => changes.kept.size + changes.minutes.length === 0,
    keep({ position, lane }: Laned, row: WaitingDelivery | null): void {
      keepIn(changes.kept, position, { lane, row })
      changedIn.set(lane, number)
    },
    /** What a query that begins now knows. */
    stored: (): number => stored,
    isStale: (lane: number, known: number): boolean => (changedIn.get(lane) ?? 0) > known,
    /** Forgets what every query from now on knows. */
    known(at: number): void {
      for (const [lane, save] of changedIn) if (save <= at) changedIn.delete(lane)
    },
    changedLanes: (): number => changedIn.size,
    take(position: number, silentUntil: number | null): Save {
      const save = { number: number++, changes, stored: { id, position, silentUntil, ...savedAs(changes, version) } }
      changes = noChanges()
      return save
    },
    wasStored(save: Save): void {
      stored = save.number
    },
    putBack(save: Save): void {
      changes = repeated(save.changes, changes)
      for (const { lane } of save.changes.kept.values()) changedIn.set(lane, number)
    },
  }
}
