import type { NewArrivals } from '#src/store/store.ts'

/** Positions of a batch, `from` before its first one. */
export interface Span {
  readonly from: number
  readonly to: number
}

/**
 * Whose deliveries were committed since the last look, as long as that is known without reading them: every position from
 * there on was given out by this process.
 */
export interface RecentCommits {
  /** No span where it is not known. */
  add(span: Span | null, customerIds: Iterable<string>): void
  since(position: number): NewArrivals | undefined
  /** After a look at the store that saw everything up to a position, or not all there is. */
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
      // Seen before we were told.
      if (span !== null && span.to <= known.to) return
      if (span?.from === known.to) {
        for (const customerId of customerIds) known.customerIds.add(customerId)
        known = { ...known, to: span.to }
      } else known = undefined
    },
    since(position) {
      // Nothing new is no knowledge: another process may have stored something.
      if (known?.from !== position || known.to === position) return undefined
      const { to, customerIds } = known
      beginAt(to)
      return { position: to, customerIds: [...customerIds], more: false }
    },
    seen(position) {
      known = undefined
      if (position !== undefined) beginAt(position)
    },
  }
}
