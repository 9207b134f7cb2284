import { AppError } from '#src/lib/app-error.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import type { PurgeState, PurgeStore } from '#src/store/store.ts'
import { purchaseErrors } from './purchase.errors.ts'

/** What seals cursors of the feed, by the id of one customer or null for all. Exports and webhooks take them, too. */
export const feedPurpose = (customerId: string | null) => ['feed', customerId]

/** Up to where somebody has read the deliveries. */
export interface FeedPlace {
  readonly position: number
  /**
   * 0 for somebody who is promised every delivery after the position. Otherwise the reader began among deliveries of which a purge
   * had this generation, and is promised what that purge leaves.
   */
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

/** The place of whoever begins after a position. */
export const placeAt = (position: number, state: PurgeState): FeedPlace => ({
  position,
  generation: position < state.announced ? state.generation : 0,
})

/**
 * Returns the places of whoever has read on from another place while the state was this. A function of its own, so that whoever keeps
 * what it returns keeps nothing of the page.
 */
export const placesFrom =
  ({ generation }: FeedPlace, state: PurgeState) =>
  (position: number): FeedPlace =>
    generation === state.generation ? placeAt(position, state) : { position, generation: 0 }

export type Purges = Pick<PurgeStore, 'state' | 'receivedAfter'>

/** Where to begin without a cursor: with the first delivery that there is. */
export const firstPlace = async (purges: Purges): Promise<FeedPlace> => placeAt(0, await purges.state())

/** DELIVERIES_LOST, with the place of the last delivery that is left. */
export class LostPlace extends AppError {
  /** When the first batch after the loss was stored, in milliseconds since 1970; null if none has been. */
  readonly at: number | null
  readonly lastLeft: FeedPlace

  constructor(at: number | null, lastLeft: FeedPlace, message?: string) {
    super(purchaseErrors.deliveriesLost, message === undefined ? {} : { message })
    this.at = at
    this.lastLeft = lastLeft
  }
}

/**
 * Throws CURSOR_PURGED if deliveries after the place were removed since, and DELIVERIES_LOST if the place lies among lost ones. A purge
 * changes the state together with what it removes, so this must be called after the deliveries were read. Returns the state.
 */
export async function refuseMissing(place: FeedPlace, purges: Purges): Promise<PurgeState> {
  const { position, generation } = place
  const state = await purges.state(position)
  if (state.lost !== null) {
    const { at, lastPosition } = state.lost
    // Whoever begins again has missed nothing that was purged.
    throw new LostPlace(at, lastPosition === 0 ? placeAt(0, state) : placesFrom(place, state)(lastPosition))
  }
  if (position >= state.position || generation === state.generation) return state
  const whole = await purges.receivedAfter(state.announced)
  const since =
    whole === undefined ? 'what comes in from now on' : `everything received since ${isoMilliseconds(whole)}`
  throw new AppError(purchaseErrors.cursorPurged, {
    message: `Deliveries that follow this cursor were removed because of their age. Without "after" the feed begins with the first delivery that is left: it has ${since}, and of what came before only what orders still need.`,
  })
}
