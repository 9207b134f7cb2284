import type { UnsentCount } from '../purge-store.ts'
import type { Candidate, Endpoint, Unsent, UnsentRemoval } from './unsent.ts'

const NOBODY: ReadonlySet<Endpoint> = new Set()

function isHeld(endpoints: ReadonlySet<Endpoint>): boolean {
  for (const { holds } of endpoints) if (holds) return true
  return false
}

/** Decides what stays, and counts it. */
export function countUnsent(unsent: Unsent) {
  const counts = new Map<Endpoint, { kept: number; last: number; removed: number; readonly positions: Set<number> }>()
  const countOf = (endpoint: Endpoint) =>
    counts.getOrInsertComputed(endpoint, () => ({ kept: 0, last: 0, removed: 0, positions: new Set<number>() }))
  return {
    /** Whether a delivery stays, because an endpoint has not taken it, or another one that has to go with it. */
    keeps(position: number, together: readonly Candidate[]): boolean {
      if (unsent.size === 0) return false
      const own = unsent.get(position) ?? NOBODY
      if (!together.some((each) => isHeld(unsent.get(each.position) ?? NOBODY))) {
        for (const each of together)
          for (const endpoint of unsent.get(each.position) ?? NOBODY) countOf(endpoint).positions.add(each.position)
        for (const endpoint of own) countOf(endpoint).removed++
        return false
      }
      for (const endpoint of own) {
        if (!endpoint.holds) continue
        const count = countOf(endpoint)
        count.kept++
        count.last = Math.max(count.last, position)
      }
      return true
    },
    webhooks: (): UnsentCount[] =>
      Array.from(counts, ([{ id }, { kept, last, removed }]) => ({ id, kept, last, removed })),
    removals: (): UnsentRemoval[] =>
      Array.from(counts, ([{ id }, { positions }]) => ({ webhook: id, positions: [...positions] }))
        .filter(({ positions }) => positions.length > 0)
        .toSorted((one, other) => (one.webhook < other.webhook ? -1 : 1)),
  }
}
