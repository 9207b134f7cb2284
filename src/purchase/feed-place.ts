import { AppError } from '#src/lib/app-error.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import type { PurgeState } from '#src/store/store.ts'
import { purchaseErrors } from './purchase.errors.ts'
import type { Reads } from './reads.ts'

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
type SealedPlace = number | readonly [position: number, generation: number]

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

const MAX_SCANNED = 20_000

export type FeedPlaces = ReturnType<typeof createFeedPlaces>

/** The places of readers of the feed, of exports and of webhooks. Their scope is the id of one customer, or null for all. */
export function createFeedPlaces({ deliveries, purges, cursors }: Omit<Reads, 'customers' | 'productsOf'>) {
  const cursorOf = (scope: string | null, place: FeedPlace): Promise<string> =>
    cursors.seal(['feed', scope], sealedPlace(place))

  /** DELIVERIES_LOST tells what was lost and how to go on. */
  const lostAfter = async (
    place: FeedPlace,
    scope: string | null,
    state: PurgeState,
    { at, lastPosition }: NonNullable<PurgeState['lost']>,
  ): Promise<AppError> => {
    // Whoever begins again has missed nothing that was purged.
    const lastLeft = lastPosition === 0 ? placeAt(0, state) : placesFrom(place, state)(lastPosition)
    const filter = scope === null ? {} : { customerId: scope }
    const bounds = { limit: 1, scan: MAX_SCANNED }
    const [last] = (await deliveries.before(lastPosition + 1, filter, bounds)).deliveries
    const when = at === null ? '' : ` (noticed at ${isoMilliseconds(at)})`
    const left =
      lastPosition === 0
        ? 'Which ones before them are left cannot be told, so everything comes again.'
        : last === undefined
          ? 'None that you may read is among the latest ones before them.'
          : `The last one before them that is left is ${last.receiptId}.`
    return new AppError(purchaseErrors.deliveriesLost, {
      message: `A failover or a recovery of the database lost deliveries${when}, and this cursor lies among them. ${left} Lost ones that you have got are not stored any more; suppliers may send them again. To get everything that was stored since, go on with the cursor ${await cursorOf(scope, lastLeft)}`,
    })
  }

  return {
    cursorOf,

    placeOf: async (scope: string | null, cursor: string): Promise<FeedPlace> =>
      openedPlace(await cursors.open<SealedPlace>(['feed', scope], cursor)),

    /** Where to begin without a cursor: with the first delivery that there is. */
    first: async (): Promise<FeedPlace> => placeAt(0, await purges.state()),

    /**
     * Throws CURSOR_PURGED if deliveries after the place were removed since, and DELIVERIES_LOST if the place lies among lost ones. A
     * purge changes the state together with what it removes, so this must be called after the deliveries were read. Returns the state.
     */
    async refuseMissing(place: FeedPlace, scope: string | null): Promise<PurgeState> {
      const { position, generation } = place
      const state = await purges.state(position)
      if (state.lost !== null) throw await lostAfter(place, scope, state, state.lost)
      if (position >= state.position || generation === state.generation) return state
      const whole = await purges.receivedAfter(state.announced)
      const since =
        whole === undefined ? 'what comes in from now on' : `everything received since ${isoMilliseconds(whole)}`
      throw new AppError(purchaseErrors.cursorPurged, {
        message: `Deliveries that follow this cursor were removed because of their age. Without "after" the feed begins with the first delivery that is left: it has ${since}, and of what came before only what orders still need.`,
      })
    },
  }
}
