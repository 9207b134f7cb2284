import type { DeliveryStore } from '../../store.ts'
import type { Dialect } from '../dialect.ts'
import type { Noun } from '../work.ts'
import { deliveryHistories } from './history.ts'
import { deliveryLookUps } from './look-ups.ts'
import { orderLists } from './orders.ts'
import { pulses } from './pulse.ts'
import { deliveryWalks, type WalkBackOf } from './walks.ts'

/** What each database does in its own way. */
interface OwnReads {
  /** SQL for the last position before a place, if that lies among lost positions; else for NULL. */
  readonly lastLeft: (place: string) => string
  readonly walkBackOf: WalkBackOf
}

type DeliveryReads = Omit<DeliveryStore, 'deliver' | 'foresee' | 'watch' | 'load'>

export const deliveryReads = (dialect: Dialect, { lastLeft, walkBackOf }: OwnReads): Noun<DeliveryReads> => ({
  ...deliveryLookUps(dialect, lastLeft),
  ...deliveryHistories(dialect),
  ...orderLists(dialect),
  ...deliveryWalks(dialect, walkBackOf),
  ...pulses(dialect),
})
