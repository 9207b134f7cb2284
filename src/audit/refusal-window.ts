import type { Text } from '#src/lib/messages/message.ts'
import { networkOf, siteOf } from '#src/lib/net/network.ts'

/** A refused request. */
export interface Refusal {
  /** `login.refused`, `delivery.refused` or `operator.refused`. */
  readonly action: string
  readonly errorCode: string
  readonly reason: Text | null
  readonly customerId: string | null
  /** The API key that was sent, if it is known. */
  readonly keyId: string | null
  readonly address: string
  readonly requestId: string
  /** For a delivery. Called only if the refusal is recorded, because it reads the body again. */
  readonly delivery?: () => RefusedDelivery
}

/** Additional data about the refusal of a delivery. */
export interface RefusedDelivery {
  /** The message of the answer. */
  readonly message: Text
  readonly orderId: string | null
}

/** What was not recorded of the refusals with the API keys of one customer. */
export interface NotListed {
  readonly customerId: string
  readonly notRecorded: number
  readonly errorCodes: Record<string, number>
}

/**
 * Limits a minute, so that nobody hides what others do, or fills the disk. Callers with a known API key, logins of known customers,
 * and everybody else have separate limits, as anybody can have a request of the last two kinds refused.
 */
const LIMITS = {
  key: { ofAll: 480, ofSource: 60 },
  customer: { ofAll: 60, ofSource: 20 },
  address: { ofAll: 60, ofSource: 20 },
}
/** Lines a minute for one IPv6 /48: it has 65,536 networks, each of which counts as a source. */
const MAX_OF_SITE = 30
const MAX_OF_A_CODE = 10
const MAX_NAMES_COUNTED = 1000
const MAX_NAMES_LISTED = 10
const MAX_CUSTOMERS_COUNTED = 100

/** Decides which refusals of a minute are recorded, and counts the others. Its memory is bounded. */
export function createRefusalWindow() {
  const recorded = new Map<string, number>()
  const overflows = new Map<string, ReturnType<typeof createOverflow>>()
  const notListed = new Map<string, ReturnType<typeof createOverflow>>()

  const count = (refusal: Refusal): void => {
    overflowIn(overflows, refusal.action, MAX_NAMES_COUNTED)?.count(refusal)
    if (refusal.keyId !== null && refusal.customerId !== null)
      overflowIn(notListed, refusal.customerId, MAX_CUSTOMERS_COUNTED)?.count(refusal)
  }

  return {
    /** Returns whether to record the refusal; counts it if not. */
    admit(refusal: Refusal): boolean {
      const { action, errorCode, customerId, keyId, address } = refusal
      const kind = keyId !== null ? 'key' : customerId !== null ? 'customer' : 'address'
      const source = `${kind} ${keyId ?? customerId ?? networkOf(address)}`
      const ofCode = `${source} ${action} ${errorCode}`
      const site = kind === 'address' ? siteOf(address) : undefined
      const names = [kind, source, ofCode, ...(site === undefined ? [] : [site])]
      const countOf = (name: string): number => recorded.get(name) ?? 0
      const { ofAll, ofSource } = LIMITS[kind]
      const used = Math.max(countOf(source) / ofSource, countOf(site ?? '') / MAX_OF_SITE)
      // The more a source has had, the more is left for others: the first refusals of each are recorded in any flood.
      const isRecorded = countOf(kind) < ofAll * (1 - used) && countOf(ofCode) < MAX_OF_A_CODE
      if (isRecorded) for (const name of names) recorded.set(name, countOf(name) + 1)
      else count(refusal)
      return isRecorded
    },
    count,
    hasCounted: (): boolean => overflows.size > 0,
    /** Summaries of the refusals that are not recorded one by one, with counts by name, the highest first. */
    counted: () => Array.from(overflows, ([action, overflow]) => ({ action, ...overflow.summary() })),
    /** A summary for each customer. */
    notListed: (): NotListed[] =>
      Array.from(notListed, ([customerId, overflow]) => {
        const { notRecorded, errorCodes } = overflow.summary()
        return { customerId, notRecorded, errorCodes }
      }),
  }
}

function overflowIn(overflows: Map<string, ReturnType<typeof createOverflow>>, name: string, max: number) {
  const known = overflows.get(name)
  if (known !== undefined || overflows.size >= max) return known
  const overflow = createOverflow()
  overflows.set(name, overflow)
  return overflow
}

function createOverflow() {
  const names = { errorCodes: new Map<string, number>(), addresses: new Map(), customers: new Map() }
  let notRecorded = 0
  return {
    count({ errorCode, address, customerId }: Refusal): void {
      notRecorded++
      countName(names.errorCodes, errorCode)
      countName(names.addresses, address)
      if (customerId !== null) countName(names.customers, customerId)
    },
    summary: () => ({
      notRecorded,
      errorCodes: highestOf(names.errorCodes),
      addresses: highestOf(names.addresses),
      customers: highestOf(names.customers),
    }),
  }
}

function countName(names: Map<string, number>, name: string): void {
  const known = names.get(name)
  if (known !== undefined || names.size < MAX_NAMES_COUNTED) names.set(name, (known ?? 0) + 1)
}

const highestOf = (names: Map<string, number>): Record<string, number> =>
  Object.fromEntries([...names].sort(([, one], [, other]) => other - one).slice(0, MAX_NAMES_LISTED))
