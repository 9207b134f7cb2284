import { AppError } from '#src/lib/app-error.ts'
import type { Random } from '#src/lib/random.ts'
import { createSealer } from '#src/lib/sealer.ts'
import { keptWork } from '#src/lib/shared-work.ts'
import type { SecretStore } from '#src/store/store.ts'
import { purchaseErrors } from './purchase.errors.ts'

/** Seals places in the data into opaque texts. Cursors do not expire: every replica reads their key from the store. */
export interface Cursors {
  /** `purpose` is what must be the same when the cursor comes back: the route, the customer, the filters. */
  seal(purpose: Purpose, place: unknown): Promise<string>
  /** Returns the place; throws CURSOR_INVALID for a text that was not made for this purpose. */
  open<Place>(purpose: Purpose, cursor: string): Promise<Place>
}

export type Purpose = readonly (string | number | null | undefined)[]

const KEY_NAME = 'cursor-key'
const KEY_BYTES = 32
/** Keeps a cursor from beginning with a dash, which a command line would take for an option. */
const PREFIX = 'c'

export function createCursors(secrets: SecretStore, random: Random): Cursors {
  const sealer = keptWork(async () => createSealer(await secrets.findOrInsert(KEY_NAME, random(KEY_BYTES))))

  return {
    async seal(purpose, place) {
      return PREFIX + (await sealer()).seal(JSON.stringify(purpose), JSON.stringify(place))
    },
    async open<Place>(purpose: Purpose, cursor: string) {
      const place = cursor.startsWith(PREFIX)
        ? (await sealer()).open(JSON.stringify(purpose), cursor.slice(PREFIX.length))
        : undefined
      if (place === undefined) throw new AppError(purchaseErrors.cursorInvalid)
      return JSON.parse(place) as Place
    },
  }
}
