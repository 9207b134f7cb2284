import { AppError } from '#src/lib/app-error.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import type { DeliveryStore, PurgeState, PurgeStore } from '#src/store/store.ts'
import type { Cursors } from './cursors.ts'
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

/** Tells the readers of all customers (null) or one what was lost and how to go on, if that is what the error is about. */
export type InWords = (error: unknown, customerId: string | null) => Promise<unknown>

export interface WordsDependencies {
  readonly deliveries: Pick<DeliveryStore, 'before'>
  readonly cursors: Cursors
}

const MAX_SCANNED = 20_000

export const createLostWords =
  ({ deliveries, cursors }: WordsDependencies): InWords =>
  async (error, customerId) => {
    if (!(error instanceof LostPlace)) return error
    const { at, lastLeft } = error
    const filter = customerId === null ? {} : { customerId }
    const bounds = { limit: 1, scan: MAX_SCANNED }
    const [last] = (await deliveries.before(lastLeft.position + 1, filter, bounds)).deliveries
    const cursor = await cursors.seal(feedPurpose(customerId), sealedPlace(lastLeft))
    const when = at === null ? '' : ` (noticed at ${isoMilliseconds(at)})`
    const left =
      lastLeft.position === 0
        ? 'Which ones before them are left cannot be told, so everything comes again.'
        : last === undefined
          ? 'None that you may read is among the latest ones before them.'
          : `The last one before them that is left is ${last.receiptId}.`
    const message = `A failover or a recovery of the database lost deliveries${when}, and this cursor lies among them. ${left} Lost ones that you have got are not stored any more; suppliers may send them again. To get everything that was stored since, go on with the cursor ${cursor}`
    return new LostPlace(at, lastLeft, message)
  }

/** Does what `refuseMissing` does, in words for those readers. */
export const refusesMissing =
  (purges: Purges, inWords: InWords) =>
  async (place: FeedPlace, customerId: string | null): Promise<PurgeState> => {
    try {
      return await refuseMissing(place, purges)
    } catch (error) {
      throw await inWords(error, customerId)
    }
  }
