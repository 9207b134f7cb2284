import type { Store } from '#src/store/store.ts'
import type { Cursors } from './cursors.ts'

/** What lists and searches read with. */
export interface Reads extends Pick<Store, 'deliveries' | 'purges' | 'customers'> {
  readonly cursors: Cursors
  /** Finds the products in the payload of a stored delivery. */
  readonly productsOf: (payload: Uint8Array) => readonly string[]
}
