import type { Clock } from '#src/lib/clock.ts'

const RARELY_MILLISECONDS = 10_000

/** Returns a function that tells how much each count has grown since it was called before. */
export function countNew(counts: () => ReadonlyMap<string, { readonly value: number }>) {
  const former = new Map<string, number>()
  return (): Map<string, number> => {
    const grown = new Map<string, number>()
    for (const [code, { value }] of counts()) {
      const more = value - (former.get(code) ?? 0)
      former.set(code, value)
      if (more > 0) grown.set(code, more)
    }
    return grown
  }
}

/** Asks every ten seconds at most, and keeps the last answer, also while there is no newer one. */
export function askRarely<Answer>(ask: () => Promise<Answer>, clock: Clock) {
  let answer: Answer | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  return {
    last: (): Answer | undefined => answer,
    async refresh(): Promise<void> {
      if (clock.monotonic() - askedAt < RARELY_MILLISECONDS) return
      askedAt = clock.monotonic()
      answer = await ask().catch(() => answer)
    },
  }
}
