import { AppError } from '#src/lib/app-error.ts'
import type { Random } from '#src/lib/random.ts'
import { createSealer, type Sealer } from '#src/lib/sealer.ts'
import type { SecretStore } from '#src/store/store.ts'
import { purchaseErrors } from './purchase.errors.ts'

/**
 * Places in what came in, handed out as texts that mean nothing to others. They do not expire: their key is in the store, so
 * that every replica knows it, today and next year.
 */
export interface Cursors {
  /** `purpose` is all that must be the same when the cursor comes back: the route, whose data, the filters. */
  seal(purpose: Purpose, place: unknown): Promise<string>
  /** The place; throws CURSOR_INVALID for a text that was not made for this purpose. */
  open<Place>(purpose: Purpose, cursor: string): Promise<Place>
}

export type Purpose = readonly (string | number | null | undefined)[]

const KEY_NAME = 'cursor-key'
const KEY_BYTES = 32
/** Without it one in 64 would begin with a dash, which a command line takes for an option. */
const FIRST = 'c'

export function createCursors(secrets: SecretStore, random: Random): Cursors {
  let loading: Promise<Sealer> | undefined

  const sealer = (): Promise<Sealer> => {
    loading ??= secrets
      .findOrInsert(KEY_NAME, random(KEY_BYTES))
      .then(createSealer)
      .catch((error: unknown) => {
        loading = undefined
        throw error
      })
    return loading
  }

  return {
    async seal(purpose, place) {
      return FIRST + (await sealer()).seal(JSON.stringify(purpose), JSON.stringify(place))
    },
    async open<Place>(purpose: Purpose, cursor: string) {
      const place = cursor.startsWith(FIRST)
        ? (await sealer()).open(JSON.stringify(purpose), cursor.slice(FIRST.length))
        : undefined
      if (place === undefined) throw new AppError(purchaseErrors.cursorInvalid)
      return JSON.parse(place) as Place
    },
  }
}
