/** Bounds what one endpoint takes in memory and in the store. */
export interface Limits {
  /** Deliveries after the place that are read; a page is read when there is room for one. */
  readonly window: number
  readonly page: number
  /** With more deliveries that wait, nothing is read. */
  readonly waiting: number
  readonly inFlight: number
}

export const LIMITS: Limits = { window: 512, page: 256, waiting: 10_000, inFlight: 32 }
