/** How many times as long random tests look as in `npm test`: TEST_TIMES=10, as `npm run test:slow` has it. */
export const TIMES = Number(process.env.TEST_TIMES || 1)
if (!(TIMES > 0)) throw new Error(`TEST_TIMES is a number above 0, not "${process.env.TEST_TIMES}"`)

/** The `numRuns` of a model that finds more the longer it looks. */
export const runs = (usual: number): number => Math.ceil(usual * TIMES)
