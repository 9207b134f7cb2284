import type { NewRefusals } from '#src/store/store.ts'

/** Counts by customer that are held at once. Further ones count as refusals of unknown customers. */
const MAX_OF_CUSTOMERS = 1_000

/** Counts refusals until they are written. Its memory is bounded. */
export function createRefusalCounts() {
  let counts = new Map<string, NewRefusals>()

  return {
    add(refusals: readonly NewRefusals[]): void {
      for (const refusal of refusals) {
        const { hour, action, errorCode } = refusal
        const named = `${hour} ${action} ${errorCode} ${refusal.customerId ?? ''}`
        const full = counts.size >= MAX_OF_CUSTOMERS && !counts.has(named)
        const name = full ? `${hour} ${action} ${errorCode} ` : named
        const customerId = full ? null : refusal.customerId
        const count = (counts.get(name)?.count ?? 0) + refusal.count
        counts.set(name, { hour, customerId, action, errorCode, count })
      }
    },
    /** Returns the counts and begins again. */
    take(): readonly NewRefusals[] {
      const taken = [...counts.values()]
      counts = new Map()
      return taken
    },
    some: (): boolean => counts.size > 0,
  }
}
