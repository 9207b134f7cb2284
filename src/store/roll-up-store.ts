/** Which counts to read. */
interface CountRange {
  /** Undefined for all customers. */
  readonly customerId: string | undefined
  /** Hours since 1970, inclusive. */
  readonly from: number
  /** Exclusive. */
  readonly to: number
  /** Each period has as many hours: 1 or 24. */
  readonly hoursEach: number
}

export interface DeliveryCounts {
  /** Number of the period: hours since 1970 divided by `hoursEach`. */
  readonly period: number
  /** How many have Status 0, 1, 2 and 3; echoes included. */
  readonly byStatus: readonly number[]
  readonly echoes: number
}

export interface RefusalCount {
  readonly period: number
  /** As in the audit log: `delivery.refused`, `login.refused` or `operator.refused`. */
  readonly action: string
  readonly errorCode: string
  readonly count: number
}

/** Refusals to be added to the counts. */
export interface NewRefusals {
  /** Hours since 1970. */
  readonly hour: number
  /** Null if unknown. */
  readonly customerId: string | null
  readonly action: string
  readonly errorCode: string
  readonly count: number
}

export interface Counts {
  /** One entry for each period that has deliveries. */
  readonly deliveries: readonly DeliveryCounts[]
  readonly refusals: readonly RefusalCount[]
  /** When the first delivery that is not counted was received, in milliseconds since 1970; undefined if all are. */
  readonly notCountedFrom: number | undefined
}

/**
 * The part of the port that counts deliveries by hour. Each is counted once, before it can be removed. Refusals are counted by
 * the audit log, together with the events that describe them.
 */
export interface RollUpStore {
  /** Counts the next `look` deliveries. Resolves to how many there were; 0 if another process counts now. */
  count(look: number): Promise<number>
  /** Reads the counts, and adds the deliveries that came since: at most `look`. */
  read(range: CountRange, look: number): Promise<Counts>
}
