import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { until } from '../until.ts'

/** Whoever looks a second after a change sees it, however long the answer takes on a busy machine. */
export async function seenWithinASecond<Seen>(look: () => Promise<Seen>, expected: Seen): Promise<void> {
  const changed = performance.now()
  await until('the change is seen', async () => {
    const began = performance.now()
    const seen = await look()
    const isSeen = isDeepStrictEqual(seen, expected)
    if (!isSeen) expect(began - changed, `looked after milliseconds, and saw ${seen}`).toBeLessThan(1000)
    return isSeen
  })
}
