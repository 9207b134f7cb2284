import type { Dialect } from '../dialect.ts'
import type { Noun } from '../work.ts'
import { deliveryLookUps, type LookUps } from './look-ups.ts'

/** What each database does in its own way. */
export interface OwnReads {
  readonly lastLeft: (place: string) => string
}

export const deliveryReads = (dialect: Dialect, { lastLeft }: OwnReads): Noun<LookUps> => ({
  ...deliveryLookUps(dialect, lastLeft),
})
