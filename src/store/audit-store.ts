import type { Bounds } from './delivery-store.ts'
import type { NewRefusals } from './roll-up-store.ts'

export interface AuditEvent {
  /** Milliseconds since 1970. */
  readonly at: number
  /** `cli:` and the name of the user, or `api`. */
  readonly actor: string
  /** For example `customer.add` or `login.refused`. */
  readonly action: string
  readonly customerId: string | null
  readonly address: string | null
  readonly requestId: string | null
  /** Identifies a refused delivery that is recorded one by one. */
  readonly refusalId: string | null
  readonly orderId: string | null
  readonly keyId: string | null
  /** Never contains a secret. */
  readonly details: Readonly<Record<string, unknown>>
}

export interface AuditFilter {
  readonly customerId?: string | undefined
  /** The prefix of the action. */
  readonly action?: string | undefined
  readonly orderId?: string | undefined
  readonly requestId?: string | undefined
  /** The API key that was sent, or that was issued, changed, rotated or revoked. */
  readonly keyId?: string | undefined
  /** Inclusive, in milliseconds since 1970. */
  readonly from?: number | undefined
  /** Exclusive. */
  readonly to?: number | undefined
}

/** An event's place in the order of the audit log. */
export type AuditPlace = readonly [at: number, number: number]

export interface AuditStore {
  /** Appends all events and adds to the counts of refusals, or does nothing. */
  append(events: readonly AuditEvent[], refusals?: readonly NewRefusals[]): Promise<void>
  /** Rejects if these events could not be written, and writes nothing. */
  prove(events: readonly AuditEvent[]): Promise<void>
  /** Returns the newest `limit` matches, the newest last. */
  list(filter: AuditFilter & { readonly limit: number }): Promise<AuditEvent[]>
  /** Returns events before a place, newest first. `next` is the place to continue before; null at the end. */
  before(
    place: AuditPlace | null,
    filter: AuditFilter,
    bounds: Bounds,
  ): Promise<{ events: AuditEvent[]; next: AuditPlace | null }>
  /** Deletes the oldest events from before a time, at most `limit`. Resolves to their number. */
  deleteBefore(before: number, limit: number): Promise<number>
}
