import type { NewArrivals } from '#src/store/store.ts'

/** The positions after `from`, up to and including `to`. */
export interface Span {
  readonly from: number
  readonly to: number
}

/**
 * Remembers which customers had deliveries committed since the last look, so that they need not be read from the store. That
 * is known only while every new position comes from this process.
 */
interface RecentCommits {
  /** Takes null for positions that are not known. */
  add(span: Span | null, customerIds: Iterable<string>): void
  since(position: number): NewArrivals | undefined
  /** Called after a look at the store: with the position up to which it saw everything, or undefined if there is more. */
  seen(position: number | undefined): void
}

export function createRecentCommits(): RecentCommits {
  let known: (Span & { readonly customerIds: Set<string> }) | undefined

  const beginAt = (position: number): void => {
    known = { from: position, to: position, customerIds: new Set() }
  }

  return {
    add(span, customerIds) {
      if (known === undefined) return
      // A look saw this batch before its commit was reported.
      if (span !== null && span.to <= known.to) return
      if (span?.from === known.to) {
        for (const customerId of customerIds) known.customerIds.add(customerId)
        known = { ...known, to: span.to }
      } else known = undefined
    },
    since(position) {
      // Without own commits nothing is known: another process may have stored something.
      if (known?.from !== position || known.to === position) return undefined
      const { to, customerIds } = known
      beginAt(to)
      return { position: to, customerIds: [...customerIds], more: false, lost: false }
    },
    seen(position) {
      known = undefined
      if (position !== undefined) beginAt(position)
    },
  }
}
