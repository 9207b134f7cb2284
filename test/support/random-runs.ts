import { inject } from 'vitest'

const times = Number(process.env.TEST_TIMES || 1)
if (!(times > 0)) throw new Error(`TEST_TIMES is a number above 0, not "${process.env.TEST_TIMES}"`)

/**
 * The `numRuns` of a model that finds more the longer it looks: TEST_TIMES=10 makes it ten times as many, as `npm run test:slow` does.
 * Where there is no PostgreSQL, on which a run takes ten times as long, it is twice as many.
 */
export const runs = (usual: number): number =>
  Math.ceil(usual * times * (inject('stores').includes('postgres') ? 1 : 2))
