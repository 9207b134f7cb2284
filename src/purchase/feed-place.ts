import { AppError } from '#src/lib/app-error.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import type { PurgeState, PurgeStore } from '#src/store/store.ts'
import { purchaseErrors } from './purchase.errors.ts'

/** Up to where somebody has read the deliveries. */
export interface FeedPlace {
  readonly position: number
  /** The generation of the latest purge when it was read; 0 if no purge had removed anything after the position. */
  readonly generation: number
}

/** How a cursor holds a place: as a position, if it can. */
export type SealedPlace = number | readonly [position: number, generation: number]

export const sealedPlace = ({ position, generation }: FeedPlace): SealedPlace =>
  generation === 0 ? position : [position, generation]

export const openedPlace = (sealed: SealedPlace): FeedPlace => {
  const [position, generation] = typeof sealed === 'number' ? [sealed, 0] : sealed
  return { position, generation }
}

/** The place of whoever has read up to a position while the state was this. */
export const placeAt = (position: number, state: PurgeState): FeedPlace => ({
  position,
  generation: position < state.position ? state.generation : 0,
})

type Purges = Pick<PurgeStore, 'state' | 'receivedAfter'>

/** Where to begin without a cursor: with the first delivery that there is. */
export const firstPlace = async (purges: Purges): Promise<FeedPlace> => placeAt(0, await purges.state())

/**
 * Throws CURSOR_PURGED if deliveries after the place were removed since. A purge changes the state before it removes anything, so
 * this must be called after the deliveries were read. Returns the state.
 */
export async function refusePurged({ position, generation }: FeedPlace, purges: Purges): Promise<PurgeState> {
  const state = await purges.state()
  if (position >= state.position || generation === state.generation) return state
  const whole = await purges.receivedAfter(state.position)
  const since =
    whole === undefined ? 'what comes in from now on' : `everything received since ${isoMilliseconds(whole)}`
  throw new AppError(purchaseErrors.cursorPurged, {
    message: `Deliveries that follow this cursor were removed because of their age. Without "after" the feed begins with the first delivery that is left: it has ${since}, and of what came before only what orders still need.`,
  })
}
