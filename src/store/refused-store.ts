import type { Text } from '#src/lib/messages/message.ts'
import type { Bounds } from './delivery-store.ts'

/** A refused delivery. Its supplier may see all of it but the reason and the address. */
export interface Refusal {
  /** UUID of version 7. */
  readonly refusalId: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** Null if the key is missing or unknown. */
  readonly customerId: string | null
  readonly keyId: string | null
  /** Null if there is no such key. */
  readonly keyLabel: string | null
  readonly orderId: string | null
  readonly errorCode: string
  /** What the supplier was told; empty if the audit log does not have it. */
  readonly message: Text
  /** How many refusals it stands for, if it counts those that are not listed. */
  readonly notRecorded?: number
  /** For operators; null if there is none, or only the body was kept. */
  readonly reason: Text | null
  readonly requestId: string | null
  readonly address: string | null
  /** Null if the body was not kept. */
  readonly payloadBytes: number | null
}

export interface NewRefusedBody {
  readonly refusalId: string
  readonly at: number
  readonly customerId: string
  readonly keyId: string
  readonly orderId: string | null
  readonly errorCode: string
  readonly message: Text
  readonly requestId: string
  readonly address: string
  readonly payload: Uint8Array
}

export type RefusedBody = NewRefusedBody & { readonly keyLabel: string | null }

export type RefusedBodySummary = Omit<RefusedBody, 'payload'> & { readonly payloadBytes: number }

export interface RefusalRange {
  /** Only refusals with smaller ids. */
  readonly before?: string | undefined
  /** Inclusive, in milliseconds since 1970. */
  readonly from?: number | undefined
  /** Exclusive. */
  readonly to?: number | undefined
}

export interface RefusalFilter extends RefusalRange {
  /** Only refusals whose ids begin with this text. */
  readonly idPrefix?: string | undefined
  readonly customerId?: string | undefined
  readonly orderId?: string | undefined
  readonly errorCode?: string | undefined
  readonly requestId?: string | undefined
}

interface RefusedBodyFilter extends RefusalRange {
  readonly customerId?: string | undefined
  readonly orderId?: string | undefined
  readonly requestId?: string | undefined
  readonly limit: number
}

export interface RefusedTally {
  /** Bodies that are kept, and their bytes, each with `ROW_BYTES` more. */
  readonly bodies: number
  readonly bytes: number
  /** Bodies that were removed to make room for later ones. */
  readonly removed: number
  /** Bodies that were never stored, because too many came at once. */
  readonly notKept: number
}

/** The part of the port for refused deliveries. */
export interface RefusedStore {
  /**
   * Lists refusals, in the audit log or with their bodies, the newest first. `next` is the id to continue before; null at the end.
   */
  refusals(filter: RefusalFilter, bounds: Bounds): Promise<{ refusals: Refusal[]; next: string | null }>
  /**
   * Stores bodies, and removes those that came first while all of them have more than `maxBytes`, but only `FREED_AT_ONCE` more
   * bytes than it stores. Adds `notKept` to the tally. Stores none of a customer that was erased. Resolves to how many it removed.
   */
  keep(
    bodies: readonly NewRefusedBody[],
    limits: { readonly maxBytes: number; readonly notKept: number },
  ): Promise<number>
  /** Finds a refusal whose body is kept. */
  find(refusalId: string): Promise<RefusedBody | undefined>
  /** Returns the newest matches, the newest last. */
  list(filter: RefusedBodyFilter): Promise<RefusedBodySummary[]>
  tally(): Promise<RefusedTally>
  /** Removes the oldest bodies from before a time, at most `limit`. Resolves to their number. */
  deleteBefore(before: number, limit: number): Promise<number>
  /** Removes some bodies, whatever their size. Resolves to how many there were. */
  remove(refusalIds: readonly string[]): Promise<number>
  /** Removes bodies of a customer, and order ids from its audit events. Resolves to whether there may be more. */
  erase(customerId: string, limit: number): Promise<boolean>
  /**
   * Removes copies that removals left behind in unused parts of pages, among the next bodies. Begins with 0, and resolves to
   * where to continue; null at the end.
   */
  wipePages(after: number): Promise<number | null>
}
