import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { AppError } from '#src/lib/app-error.ts'
import type { Random } from '#src/lib/random.ts'
import { keptWork } from '#src/lib/shared-work.ts'
import type { SecretStore } from '#src/store/store.ts'
import { purchaseErrors } from './purchase.errors.ts'

/** Seals places in the data into opaque texts. Cursors do not expire: every replica reads their key from the store. */
export type Cursors = ReturnType<typeof createCursors>

/** What every list may be asked for. */
export interface ListQuery {
  /** Id or e-mail address. */
  readonly customer?: string | undefined
  readonly orderId?: string | undefined
  /** Milliseconds since 1970, inclusive. */
  readonly from?: number | undefined
  /** Milliseconds since 1970, exclusive. */
  readonly to?: number | undefined
  readonly cursor?: string | undefined
  readonly limit: number
}

export type Purpose = readonly (string | number | null | undefined)[]

const KEY_NAME = 'cursor-key'
/** A restored store gets a new key. This prefix, a position and a time name the key before: its cursors are good up to there. */
const EARLIER = 'cursor-key-until:'
const KEY_BYTES = 32
/** Keeps a cursor from beginning with a dash, which a command line would take for an option. */
const PREFIX = 'c'

export function createCursors(secrets: Pick<SecretStore, 'findOrInsert' | 'list'>, random: Random) {
  const sealer = keptWork(async () => createSealer(await secrets.findOrInsert(KEY_NAME, random(KEY_BYTES))))
  const earlier = keptWork(async () =>
    (await secrets.list(EARLIER)).map(({ name, value }) => ({
      sealer: createSealer(value),
      lastPosition: Number(name.split(':')[1]),
    })),
  )

  const placeIn = (by: Sealer, purpose: Purpose, cursor: string): unknown => {
    const place = cursor.startsWith(PREFIX) ? by.open(JSON.stringify(purpose), cursor.slice(PREFIX.length)) : undefined
    return place === undefined ? undefined : JSON.parse(place)
  }

  return {
    /** `purpose` is what must be the same when the cursor comes back: the route, the customer, the filters. */
    async seal(purpose: Purpose, place: unknown) {
      return PREFIX + (await sealer()).seal(JSON.stringify(purpose), JSON.stringify(place))
    },
    /** Returns the place; throws CURSOR_INVALID for a text that was not made for this purpose, or lies in what a restore undid. */
    async open<Place>(purpose: Purpose, cursor: string) {
      const place = placeIn(await sealer(), purpose, cursor)
      if (place !== undefined) return place as Place
      for (const { sealer, lastPosition } of await earlier()) {
        const position = placeIn(sealer, purpose, cursor)
        if (typeof position === 'number' && position <= lastPosition) return position as Place
      }
      throw new AppError(purchaseErrors.cursorInvalid)
    },
  }
}

/**
 * Called for a store that was set back to an earlier state: cursors that lie after `lastPosition` are refused from now on, since
 * they would skip what is stored under the positions that are given again. Servers read the keys when they start.
 */
export async function refuseCursorsAfter(lastPosition: number, secrets: SecretStore, now: number): Promise<void> {
  for (const { name } of await secrets.list(EARLIER)) {
    const [, until, at] = name.split(':')
    if (Number(until) > lastPosition) await secrets.rename(name, `${EARLIER}${lastPosition}:${at}`)
  }
  await secrets.rename(KEY_NAME, `${EARLIER}${lastPosition}:${now}`)
}

/** Encrypts texts so that only holders of the secret can read or make them. */
type Sealer = ReturnType<typeof createSealer>

const TAG_BYTES = 16

/** Uses a synthetic IV as in RFC 5297, with HMAC-SHA-256 instead of CMAC, so that no nonce can repeat. */
export function createSealer(secret: Uint8Array) {
  const deriveKey = (use: string) => Buffer.from(hkdfSync('sha256', secret, '', use, 32))
  const [tagKey, cipherKey] = [deriveKey('tag'), deriveKey('cipher')]
  const tagOf = (purpose: string, value: string): Buffer =>
    createHmac('sha256', tagKey)
      .update(JSON.stringify([purpose, value]))
      .digest()
      .subarray(0, TAG_BYTES)

  return {
    /** Always returns the same text for the same purpose and value. */
    seal(purpose: string, value: string) {
      const tag = tagOf(purpose, value)
      return Buffer.concat([tag, createCipheriv('aes-256-ctr', cipherKey, tag).update(value)]).toString('base64url')
    },
    /** Returns undefined unless exactly this text was sealed for this purpose. */
    open(purpose: string, sealed: string) {
      const bytes = Buffer.from(sealed, 'base64url')
      // Decoding ignores characters that are not base64url and unused bits at the end.
      if (bytes.length < TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined
      const tag = bytes.subarray(0, TAG_BYTES)
      const value = createDecipheriv('aes-256-ctr', cipherKey, tag).update(bytes.subarray(TAG_BYTES)).toString()
      return timingSafeEqual(tag, tagOf(purpose, value)) ? value : undefined
    },
  }
}
