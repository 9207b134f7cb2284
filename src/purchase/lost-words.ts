import { isoMilliseconds } from '#src/lib/clock.ts'
import type { DeliveryStore, PurgeState } from '#src/store/store.ts'
import type { Cursors } from './cursors.ts'
import { type FeedPlace, feedPurpose, LostPlace, type Purges, refuseMissing, sealedPlace } from './feed-place.ts'

/** Tells the readers of all customers (null) or one what was lost and how to go on, if that is what the error is about. */
export type InWords = (error: unknown, customerId: string | null) => Promise<unknown>

export interface WordsDependencies {
  readonly deliveries: Pick<DeliveryStore, 'before'>
  readonly cursors: Cursors
}

const MAX_LOOKED_AT = 20_000

export const createLostWords =
  ({ deliveries, cursors }: WordsDependencies): InWords =>
  async (error, customerId) => {
    if (!(error instanceof LostPlace)) return error
    const { at, lastLeft } = error
    const filter = customerId === null ? {} : { customerId }
    const bounds = { limit: 1, scan: MAX_LOOKED_AT }
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
