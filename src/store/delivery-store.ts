import type { BatcherLoad, Sequence } from '#src/lib/batcher.ts'

export type { Sequence }

export interface NewDelivery {
  /** A version 7 UUID. */
  readonly receiptId: string
  readonly customerId: string
  /** The order id as it was sent, if one was found. */
  readonly orderId: string | null
  readonly status: number
  /** Milliseconds since 1970. */
  readonly receivedAt: number
  readonly payload: Uint8Array
  readonly idempotency: {
    readonly key: string
    /** In milliseconds since 1970. Keys stored earlier have expired. */
    readonly notBefore: number
  } | null
  readonly origin: DeliveryOrigin | null
}

/** Where a delivery came from. */
export interface DeliveryOrigin {
  /** The API key, a UUID. */
  readonly keyId: string
  /** The address of the client. */
  readonly address: string
  readonly requestId: string
}

/** The origin as it is kept: without what was erased. */
export interface KeptOrigin {
  readonly keyId: string
  /** Null if the key is unknown. */
  readonly keyLabel: string | null
  readonly address: string | null
  readonly requestId: string | null
}

/** The receipt of a delivery or, for a duplicate, of the delivery that it repeats. */
export interface Receipt {
  readonly receiptId: string
  readonly orderId: string | null
  readonly status: number
  readonly receivedAt: number
  readonly duplicate: boolean
}

/** A stored delivery. An echo is stored too, under a receipt of its own. */
export interface Delivery extends Receipt {
  /** Rises in the order of commits. */
  readonly position: number
  readonly customerId: string
  /** Whether the payload was erased: what stands in its place must not be shown. The order id is null if the customer was erased. */
  readonly erased: boolean
  readonly payload: Uint8Array
  /** Null if it is not known. */
  readonly origin: KeptOrigin | null
}

/** A delivery with the size of its payload instead of the payload, and without its origin. */
export interface DeliverySummary extends Omit<Delivery, 'payload' | 'origin'> {
  readonly payloadBytes: number
}

/** The state of an order, from its latest delivery that is no echo. */
export interface OrderState {
  readonly orderId: string
  readonly status: number
  readonly receiptId: string
  readonly receivedAt: number
}

/** The state of an order, with the position and size of the delivery that made it. */
export interface Order extends OrderState {
  readonly customerId: string
  readonly position: number
  readonly payloadBytes: number
}

/** The place of an order in the list of all orders: sorted by customer, oldest customer first, then by order id. */
export interface OrderPlace {
  readonly customerId: string
  readonly orderId: string
}

export interface Filter {
  readonly customerId?: string | undefined
  readonly orderId?: string | undefined
  /** For orders, beside a customer at most: those whose ids begin so. `next` leads to the next customer: what does not fit into the page is left out. */
  readonly orderIdPrefix?: string | undefined
  readonly status?: number | undefined
  /** The first time of receipt, inclusive, in milliseconds since 1970. */
  readonly from?: number | undefined
  /** The last time of receipt, exclusive. */
  readonly to?: number | undefined
  /** Whether only echoes are wanted, or only others. Orders have no such filter, and neither have they those below. */
  readonly duplicate?: boolean | undefined
  /** The API key that a delivery came with. */
  readonly keyId?: string | undefined
  /** A part of the address that a delivery came from. May also let through others, whose origins happen to have it. */
  readonly addressPart?: string | undefined
}

/** The deliveries committed after a position. */
interface NewArrivals {
  /** The position of the last one. */
  readonly position: number
  /** Their customers, without repeats. */
  readonly customerIds: readonly string[]
  /** Whether more deliveries follow. */
  readonly more: boolean
  /** Whether the position asked for lies among lost ones. `position` is then that of the last delivery left before them. */
  readonly lost: boolean
}

export interface PulseBounds {
  /** The first time of receipt that is counted, in milliseconds since 1970. */
  readonly from: number
  /** Deliveries to look at, at most. */
  readonly look: number
  /** Summaries to return, at most. */
  readonly newest: number
}

/** What was committed after a position. */
export interface Pulse {
  /** Where the next pulse continues. */
  readonly position: number
  /**
   * Undefined if this is all that was committed after the position given: the counts add to those before. Otherwise the pulse
   * begins again, and its counts replace those before. They are complete for deliveries received from this time on, a whole second
   * in milliseconds since 1970.
   */
  readonly since: number | undefined
  /** The deliveries that were looked at: those counted in `seconds`, and those received before `from`. */
  readonly deliveries: number
  /** Without seconds that have none, the oldest first. */
  readonly seconds: readonly PulseSecond[]
  /** The newest first. */
  readonly newest: readonly DeliverySummary[]
}

export interface PulseSecond {
  /** The second of receipt, in seconds since 1970. */
  readonly second: number
  /** The number of deliveries by Status, echoes included. */
  readonly byStatus: readonly number[]
  /** The number of echoes among them. */
  readonly duplicates: number
}

/** Bounds the cost of a query: it returns at most `limit` rows and looks at no more than `scan`. */
export interface Bounds {
  readonly limit: number
  readonly scan: number
}

export interface PayloadPage {
  readonly deliveries: DeliverySummary[]
  readonly payloads: Map<number, Uint8Array | null>
  readonly position: number
  /** Whether `maxBytes` left some out. */
  readonly isCut: boolean
}

/** The part of the port for the purchase module. */
export interface DeliveryStore {
  /**
   * Resolves once the delivery is durable. There are two kinds of duplicate:
   * - a retry comes with an idempotency key and the bytes that came with it before. It is not stored again.
   * - an echo has the same bytes as its order's latest delivery. It is stored, but does not change the order's state.
   *
   * Rejects with IDEMPOTENCY_KEY_REUSED, STORE_OVERLOADED or, for a customer that was erased, API_KEY_INVALID if nothing was stored,
   * or with STORE_UNAVAILABLE. After STORE_OVERLOADED and STORE_UNAVAILABLE all later deliveries of the same `sequence` are rejected, too, so
   * that none is stored without those before it.
   */
  deliver(delivery: NewDelivery, sequence?: Sequence): Promise<Receipt>
  /**
   * Resolves to the receipt that `deliver` would give to a duplicate now; undefined if the delivery would be no duplicate. Rejects as
   * `deliver` would, except with STORE_OVERLOADED. Stores nothing.
   */
  findDuplicate(delivery: NewDelivery): Promise<Receipt | undefined>
  findByReceipt(receiptId: string): Promise<Delivery | undefined>
  /** At most `most` receipts that begin with `prefix`: lower-case hexadecimal digits and hyphens. */
  receiptsWith(prefix: string, most: number): Promise<string[]>
  /**
   * Returns the receipts of the deliveries that came with a request id, oldest first. Finds those whose receipts were made within a
   * minute after the request id, which is a version 7 UUID for requests that brought none; undefined for any other text.
   */
  receiptsOfRequest(requestId: string, bounds: Bounds): Promise<string[] | undefined>
  orderState(customerId: string, orderId: string): Promise<OrderState | undefined>
  /** Returns the deliveries of an order, newest first: all of them, or `limit` beginning with the one at `from`. */
  history(customerId: string, orderId: string, page?: HistoryPage): Promise<DeliverySummary[]>
  /** Returns orders after a place. `next` is the place to continue from; null at the end. */
  orders(
    after: OrderPlace | null,
    filter: Filter,
    bounds: Bounds,
  ): Promise<{ orders: Order[]; next: OrderPlace | null }>
  /** Returns deliveries after a position, in the order of commits. `position` is where to continue from. */
  after(position: number, filter: Filter, bounds: Bounds): Promise<{ deliveries: DeliverySummary[]; position: number }>
  /**
   * Returns the same with payloads: no more deliveries than have `maxBytes` bytes of payload together, but at least one. Those that were
   * erased have no payload.
   */
  pageAfter(position: number, filter: Filter, bounds: Bounds, maxBytes: number): Promise<PayloadPage>
  /**
   * Returns deliveries before a position, newest first. `position` is the one to continue before; 0 at the end. A walk through the
   * deliveries of one customer does not look at those of others, except at the newest few thousand.
   */
  before(position: number, filter: Filter, bounds: Bounds): Promise<{ deliveries: DeliverySummary[]; position: number }>
  /**
   * Returns the positions of those deliveries that had made the state of their order when the delivery at position `at` was the
   * last one. Undefined if one of the orders has had too many deliveries since then.
   */
  statesAt(positions: readonly number[], at: number): Promise<number[] | undefined>
  /** Returns the position of the last delivery; 0 for none. */
  lastPosition(): Promise<number>
  /** Returns how many positions were given after one: as many as there are deliveries, if none of them was purged. */
  countAfter(position: number): Promise<number>
  /**
   * Returns positions between which, first exclusive and last inclusive, all deliveries of a period lie. There is more between them
   * than the period has, most of all where a clock was put back.
   */
  positionsWithin(period: Pick<Filter, 'from' | 'to'>): Promise<{ readonly early: number; readonly end: number }>
  /** Returns how many deliveries were received at a time or later, in milliseconds since 1970, but at most `most`. */
  countFrom(time: number, most: number): Promise<number>
  /**
   * Returns payloads by position, without deleted ones; null for those that were erased. With `holding` it skips payloads that cannot contain that text as JSON:
   * those with neither the text nor a backslash, which every other spelling needs.
   */
  payloads(positions: readonly number[], holding?: string): Promise<Map<number, Uint8Array | null>>
  /** Returns origins by position, without those that are not known. */
  origins(positions: readonly number[]): Promise<Map<number, KeptOrigin>>
  /** Calls back soon after any process committed deliveries, and sometimes without new ones. Returns a function that stops it. */
  watch(onCommit: () => void): () => void
  arrivals(afterPosition: number): Promise<NewArrivals>
  /**
   * Counts what was committed after a position, for a live view. Begins again with the newest deliveries without a position, with one
   * that the store does not have, and with one that lies too far back. Reads no payload.
   */
  pulse(after: number | undefined, bounds: PulseBounds): Promise<Pulse>
  /** How many deliveries this process has to store, and how its commits went. */
  readonly load: BatcherLoad
}

interface HistoryPage {
  readonly from?: number | undefined
  readonly limit?: number
}
