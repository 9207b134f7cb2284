export interface NewDelivery {
  /** A version 7 UUID. */
  readonly receiptId: string
  readonly customerId: string
  /** As it was sent, if one was found. */
  readonly orderId: string | null
  readonly status: number
  /** Milliseconds since 1970. */
  readonly receivedAt: number
  readonly payload: Uint8Array
  readonly idempotency: {
    readonly key: string
    /** Keys kept before, in milliseconds since 1970, count as never seen. */
    readonly notBefore: number
  } | null
}

/** Of the delivery itself or, when it is a duplicate, of the first one like it. */
export interface Receipt {
  readonly receiptId: string
  readonly orderId: string | null
  readonly status: number
  readonly receivedAt: number
  readonly duplicate: boolean
}

/** One delivery in the history. A duplicate is kept too, under a receipt of its own. */
export interface Delivery extends Receipt {
  /** Rises in the order of commits. */
  readonly position: number
  readonly customerId: string
  readonly payload: Uint8Array
}

/** The same without its payload, whose size it tells. */
export interface DeliverySummary extends Omit<Delivery, 'payload'> {
  readonly payloadBytes: number
}

/** What the last delivery that was no duplicate says of an order. */
export interface OrderState {
  readonly orderId: string
  readonly status: number
  readonly receiptId: string
  readonly receivedAt: number
}

/** The same with that delivery's place. */
export interface Order extends OrderState {
  readonly customerId: string
  readonly position: number
  readonly payloadBytes: number
}

/** Where an order stands in the order of all: by customer, in the order in which they were added, then by order id. */
export interface OrderPlace {
  readonly customerId: string
  readonly orderId: string
}

export interface Filter {
  readonly customerId?: string | undefined
  readonly orderId?: string | undefined
  readonly status?: number | undefined
  /** Received at this time or later, in milliseconds since 1970. */
  readonly from?: number | undefined
  /** Received before. */
  readonly to?: number | undefined
}

/** What was committed after a position. */
export interface NewArrivals {
  /** Of the last one. */
  readonly position: number
  /** Whose they are, each once. */
  readonly customerIds: readonly string[]
  /** Whether there are others after it. */
  readonly more: boolean
}

/** No answer has more than `most`, and none is looked for among more than `look`, so that its cost is bounded. */
export interface Bounds {
  readonly most: number
  readonly look: number
}

/** The part of the port that the purchase room lives on. */
export interface DeliveryStore {
  /**
   * Resolves once the delivery is durable. Bytes equal to those of the order's last delivery are kept as a duplicate and
   * leave its state alone. Rejects with IDEMPOTENCY_KEY_REUSED when the key came with other bytes before or with
   * STORE_OVERLOADED, having done nothing, or with STORE_UNAVAILABLE.
   */
  deliver(delivery: NewDelivery): Promise<Receipt>
  findByReceipt(receiptId: string): Promise<Delivery | undefined>
  orderState(customerId: string, orderId: string): Promise<OrderState | undefined>
  /** Deliveries of an order, the newest first: all of them, or `most` beginning with the one at `from`. */
  history(customerId: string, orderId: string, page?: HistoryPage): Promise<DeliverySummary[]>
  /** Orders after a place. `next` is where to look on from; null when there is nothing after it. */
  orders(
    after: OrderPlace | null,
    filter: Filter,
    bounds: Bounds,
  ): Promise<{ orders: Order[]; next: OrderPlace | null }>
  /** Deliveries after a position, in the order of commits; every one up to `position` has been looked at. */
  after(position: number, filter: Filter, bounds: Bounds): Promise<{ deliveries: DeliverySummary[]; position: number }>
  /** Of the last delivery whose receipt was made before a time, in milliseconds since 1970; 0 if there is none. */
  positionAt(time: number): Promise<number>
  /**
   * By position. Those that are no longer there are left out, and so are those that cannot hold a text that is looked for: it
   * does not stand in them, nor does a backslash, without which JSON can spell it in no other way.
   */
  payloads(positions: readonly number[], holding?: string): Promise<Map<number, Uint8Array>>
  /**
   * Calls back soon after deliveries were committed, by whatever process, and perhaps when there were none. The
   * function that it returns ends it.
   */
  watch(onCommit: () => void): () => void
  arrivals(afterPosition: number): Promise<NewArrivals>
}

export interface HistoryPage {
  readonly from?: number | undefined
  readonly most: number
}
