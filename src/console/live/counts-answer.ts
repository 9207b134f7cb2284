import { senderAnswer, summaryAnswer } from '#src/purchase/delivery-answer.ts'
import type { Counts, LiveSecond } from './tally.ts'

const NOTHING: Counts = { since: undefined, seconds: [], newest: [], skipped: 0 }

/** Returns what a frame of the live view counts. */
export const countsAnswer = ({ since, refusedSince, seconds, newest, skipped } = NOTHING) => ({
  ...(since !== undefined && { Since: since }),
  ...(refusedSince !== undefined && { RefusedSince: refusedSince }),
  Seconds: seconds.map(secondAnswer),
  Newest: newest.map(({ customer, ...each }) => ({
    ...summaryAnswer(each),
    ...senderAnswer(each.origin),
    ...(customer !== undefined && { Customer: customer }),
  })),
  Skipped: skipped,
})

const secondAnswer = ({ second, byStatus, duplicates, refusals }: LiveSecond) => ({
  At: second,
  ByStatus: [...byStatus],
  Duplicates: duplicates,
  ...(refusals.size > 0 && { Refusals: Object.fromEntries(refusals) }),
})
