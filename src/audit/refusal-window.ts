/** A refused request. */
export interface Refusal {
  /** `login.refused` or `delivery.refused`. */
  readonly action: string
  readonly errorCode: string
  readonly reason: string | null
  readonly customerId: string | null
  readonly address: string
  readonly requestId: string
  /** For a delivery. Called only if the refusal is recorded, because it reads the body again. */
  readonly delivery?: () => RefusedDelivery
}

/** Additional data about the refusal of a delivery. */
export interface RefusedDelivery {
  /** What the supplier was told. */
  readonly message: string
  readonly keyId: string | null
  readonly orderId: string | null
}

/** A summary of the refusals that are not recorded one by one. */
export interface CountedOnly {
  readonly action: string
  readonly notRecorded: number
  /** Counts by name, the highest first. */
  readonly errorCodes: Record<string, number>
  readonly addresses: Record<string, number>
  readonly customers: Record<string, number>
}

/** Limits a minute, so that one attacker neither hides what others do nor fills the disk. */
const MOST_OF_A_KIND = 60
const MOST_OF_A_SOURCE = 10
const MOST_NAMES_COUNTED = 1000
const MOST_NAMES_TOLD = 10

/** Decides which refusals of a minute are recorded, and counts the others. Its memory is bounded. */
export function createRefusalWindow() {
  const kept = new Map<string, number>()
  const rests = new Map<string, ReturnType<typeof createRest>>()

  const count = (refusal: Refusal): void => {
    const rest = rests.get(refusal.action) ?? createRest()
    rests.set(refusal.action, rest)
    rest.count(refusal)
  }

  return {
    /** Returns whether to record the refusal; counts it if not. */
    admit(refusal: Refusal): boolean {
      const { action, errorCode, address } = refusal
      const source = `${action} ${errorCode} ${address}`
      const [ofAction, ofSource] = [kept.get(action) ?? 0, kept.get(source) ?? 0]
      const room = ofAction < MOST_OF_A_KIND && ofSource < MOST_OF_A_SOURCE
      if (room) kept.set(action, ofAction + 1).set(source, ofSource + 1)
      else count(refusal)
      return room
    },
    count,
    hasCounted: (): boolean => rests.size > 0,
    counted: (): CountedOnly[] => Array.from(rests, ([action, rest]) => ({ action, ...rest.told() })),
  }
}

function createRest() {
  const names = { errorCodes: new Map<string, number>(), addresses: new Map(), customers: new Map() }
  let notRecorded = 0
  return {
    count({ errorCode, address, customerId }: Refusal): void {
      notRecorded++
      countName(names.errorCodes, errorCode)
      countName(names.addresses, address)
      if (customerId !== null) countName(names.customers, customerId)
    },
    told: () => ({
      notRecorded,
      errorCodes: mostOf(names.errorCodes),
      addresses: mostOf(names.addresses),
      customers: mostOf(names.customers),
    }),
  }
}

function countName(names: Map<string, number>, name: string): void {
  const known = names.get(name)
  if (known !== undefined || names.size < MOST_NAMES_COUNTED) names.set(name, (known ?? 0) + 1)
}

const mostOf = (names: Map<string, number>): Record<string, number> =>
  Object.fromEntries([...names].sort(([, one], [, other]) => other - one).slice(0, MOST_NAMES_TOLD))
