import { inject } from 'vitest'
import { ask } from '../../../support/app/ask.ts'
import { runs } from '../../../support/random-runs.ts'
import { pace, until } from '../../../support/until.ts'
import { compareBooks } from './books.ts'
import { releaseAll } from './faults.ts'
import { createJudge } from './judge.ts'
import { type Planned, type Round, rounds } from './schedule.ts'
import { openSite, type StoreKind } from './site.ts'
import { openStage, type Stage } from './stage.ts'

/** By hand as long as one likes: FAULTS_SECONDS=600. */
const SECONDS = Number(process.env.FAULTS_SECONDS || runs(15))
/** By hand only faults with such a name: FAULTS_ONLY='disk|reader'. */
const ONLY = new RegExp(process.env.FAULTS_ONLY ?? '')
/** What comes before and after the faults, and a busy machine. */
const MAX_SECONDS = SECONDS * 3 + 200
const RECOVERY_MILLISECONDS = 15_000
/** In bytes. */
const MAX_MEMORY = 400 * 2 ** 20

export const TIMEOUT_MILLISECONDS = MAX_SECONDS * 1000

/** The time that a server took to store deliveries again, and after which fault. */
interface Recovery {
  readonly what: string
  readonly milliseconds: number
}

/** Makes one fault after the other while everybody goes on. Throws what is wrong then, or when all books are compared. */
export async function runFaults(store: StoreKind): Promise<void> {
  const seed = `TEST_SEED=${inject('seed')}`
  const judge = createJudge()
  const site = await openSite(store, judge)
  let recoveries: Recovery[] = []
  try {
    const stage = await openStage(site, judge)
    recoveries = await makeFaults(stage)
    await compareBooks(stage)
  } catch (error) {
    judge.problem((error as Error).message)
  }
  const memory = Math.round(site.memory() / 2 ** 20)
  if (site.memory() > MAX_MEMORY) judge.problem(`a server took ${memory} MiB of memory`)
  if (judge.problems.length > 0)
    throw new Error([`${seed} FAULTS_SECONDS=${SECONDS}, ${store}:`, ...judge.problems, 'log:', site.log()].join('\n'))
  const longest = recoveries.toSorted((one, other) => other.milliseconds - one.milliseconds)[0]
  console.info(
    `${seed}, ${store}: ${recoveries.length} rounds of faults, ${judge.acknowledged.size} deliveries, ${judge.retries()} of them without an answer at first; longest recovery ${Math.round(longest?.milliseconds ?? 0)} ms, after ${longest?.what}; at most ${memory} MiB`,
  )
}

async function makeFaults(stage: Stage): Promise<Recovery[]> {
  const { judge, site } = stage
  await recovered('the start', stage)
  const recoveries: Recovery[] = []
  const end = performance.now() + SECONDS * 1000
  for (const round of rounds(site, ONLY)) {
    const left = Math.round((end - performance.now()) / 1000)
    if (left <= 0 || judge.problems.length > 0) break
    const what = nameOf(round)
    if (process.env.FAULTS_SECONDS) console.info(`${left} s left: ${what}`)
    site.giveRoom(round.room)
    const outcomes = await Promise.allSettled(round.planned.map((planned) => provoke(planned, stage)))
    releaseAll(site.replicas)
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    recoveries.push(await recovered(what, stage))
    await pace(round.quiet)
  }
  return recoveries
}

const nameOf = ({ planned }: Round): string => planned.map(({ fault }) => fault.name).join(' and ')

async function provoke({ fault, delay, lasts, draw }: Planned, stage: Stage): Promise<void> {
  const { judge } = stage
  await pace(delay)
  judge.begin(fault.name)
  try {
    const end = await fault.begin(stage, draw)
    await pace(lasts)
    await end()
  } finally {
    judge.end(fault.name)
  }
}

/** Every server is ready and stores deliveries, those of every supplier, and the followers get them. */
async function recovered(what: string, { judge, site, suppliers, followers }: Stage): Promise<Recovery> {
  const since = performance.now()
  const recovery = `the recovery from ${what}`
  judge.begin(recovery)
  let missing: string[] = []
  const look = async (): Promise<boolean> => {
    missing = [
      ...suppliers
        .filter(({ storedAt }) => storedAt() < since)
        .map(({ account }) => `${account.email} delivers nothing`),
      ...site.replicas.filter(({ storedAt }) => storedAt < since).map(({ name }) => `${name} stores nothing`),
      ...followers.filter(({ takenAt }) => takenAt() < since).map(({ name }) => `${name} gets nothing`),
    ]
    if (missing.length > 0) return false
    const answers = await Promise.all(
      site.replicas.map(({ url }) => ask(`${url}/readyz`, { method: 'GET', headers: {} })),
    )
    missing = answers.filter(({ status }) => status !== 200).map(({ body }) => `not ready: ${body}`)
    return missing.length === 0
  }
  await until('', look, { milliseconds: RECOVERY_MILLISECONDS }).catch((error: Error) => {
    throw new Error(`${RECOVERY_MILLISECONDS} ms after ${what}: ${missing.join(', ') || error.message}`)
  })
  judge.end(recovery)
  return { what, milliseconds: performance.now() - since }
}
