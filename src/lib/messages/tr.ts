import type { Code } from './message.ts'
import { erasuresInTurkish } from './tr/erasures.ts'
import { findingsInTurkish } from './tr/findings.ts'
import { refusalsInTurkish } from './tr/refusals.ts'

/** The texts of en.ts in Turkish, with the same places. After a number a word has one form. */
export const turkish: Readonly<Record<Code, string>> = {
  ...findingsInTurkish,
  ...refusalsInTurkish,
  ...erasuresInTurkish,
}
