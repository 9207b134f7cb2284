import { hash } from 'node:crypto'
import type { ErrorDefinition } from '#src/lib/app-error.ts'
import { customerErased, storeErrors } from '../../store.errors.ts'
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

type DeliveryReads = Omit<DeliveryStore, 'deliver' | 'findDuplicate' | 'watch' | 'load'>

export const deliveryReads = (dialect: Dialect, { lastLeft, walkBackOf }: OwnReads): Noun<DeliveryReads> => ({
  ...deliveryLookUps(dialect, lastLeft),
  ...deliveryHistories(dialect),
  ...orderLists(dialect),
  ...deliveryWalks(dialect, walkBackOf),
  ...pulses(dialect),
})

/** Half of a SHA-256. Taken from hexadecimal digits, because Node allocates the bytes of a hash outside of its heap. */
export const stateDigest = (payload: Uint8Array): Buffer =>
  Buffer.from(hash('sha256', payload, 'hex').slice(0, 32), 'hex')

export type Refused = 'erased' | 'key-reused'

/** Why a delivery is neither stored nor a duplicate. */
export const REFUSALS: Readonly<Record<Refused, ErrorDefinition>> = {
  erased: customerErased,
  'key-reused': storeErrors.idempotencyKeyReused,
}
