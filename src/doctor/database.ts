import type { Config } from '#src/config/load-config.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import { message } from '#src/lib/messages/message.ts'
import type { StoreFacts } from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import { type Check, failed, ok, warning } from './checks.ts'

/** Clocks that are kept right differ by far less. */
const CLOCK_MILLISECONDS = 2000
const MAX_COUNTED = 10_000
/** The check fails below the first limit and warns below the second. */
const FEW_DAYS = 7
const SOME_DAYS = 60

/** Judges what the database says about itself. `asked` is the time on this machine when it said so. */
export function checkFacts(facts: StoreFacts, { databasePool }: Config, asked: number): Check[] {
  const { database: version, supported, unfit, now, connections, openToAll, standbys, partitionsEnd, locks } = facts
  const checks: Check[] = [
    supported ? ok('database', 'DATABASE_SOUND', { version }) : failed('database', 'DATABASE_OLD', { version }),
  ]
  if (unfit !== null) checks.push(failed('database', 'DATABASE_UNFIT', { reason: unfit }))
  if (now !== null) checks.push(checkClock(now - asked))
  if (connections !== null) checks.push(checkConnections(connections, databasePool))
  if (openToAll) checks.push(warning('rights', 'DATABASE_OPEN'))
  if (standbys !== null) checks.push(...checkStandbys(standbys))
  if (partitionsEnd !== null) checks.push(checkPartitions(partitionsEnd, asked))
  return [...checks, ...(locks === null ? [] : checkLocks(locks))]
}

/** Says when deliveries last went on after a failover, and for a day that some may be lost. */
export async function checkHistory({ deliveries, history }: Store, now: number): Promise<Check[]> {
  const name = 'failovers'
  const { timeline: number, resumed } = await history()
  const timeline = number === null ? message('TIMELINE_UNKNOWN') : message('TIMELINE', { timeline: number })
  if (resumed === null) return [ok(name, 'FAILOVER_NONE', { timeline })]
  const { at, lastPosition } = resumed
  const [last] = (await deliveries.before(lastPosition + 1, {}, { limit: 1, scan: 1 })).deliveries
  const left = last === undefined ? message('LEFT_NONE') : message('LEFT_UP_TO', { receipt: last.receiptId })
  const values = { timeline, at: isoMilliseconds(at), left }
  return [now - at > DAY_MILLISECONDS ? ok(name, 'FAILOVER_LEFT', values) : warning(name, 'FAILOVER_RECENT', values)]
}

function checkClock(ahead: number): Check {
  const name = 'clock'
  if (Math.abs(ahead) < CLOCK_MILLISECONDS) return ok(name, 'CLOCKS_AGREE')
  const seconds = Math.round(Math.abs(ahead) / 100) / 10
  return warning(name, ahead < 0 ? 'CLOCK_AHEAD' : 'CLOCK_BEHIND', { seconds })
}

/** A store on one machine has only its own deliveries to compare the clock with. */
export async function checkFuture({ deliveries }: Store, now: number): Promise<Check[]> {
  const count = await deliveries.countFrom(now + CLOCK_MILLISECONDS, MAX_COUNTED)
  if (count === 0) return []
  return [warning('clock', count === MAX_COUNTED ? 'CLOCK_SET_BACK_FAR' : 'CLOCK_SET_BACK', { count })]
}

function checkConnections({ used, most }: { readonly used: number; readonly most: number }, pool: number): Check {
  return most - used >= pool
    ? ok('connections', 'CONNECTIONS_ENOUGH', { used, most })
    : warning('connections', 'CONNECTIONS_SHORT', { used, most, pool })
}

function checkStandbys({ connected, synchronous }: NonNullable<StoreFacts['standbys']>): Check[] {
  const name = 'standby'
  if (synchronous) return [ok(name, 'STANDBY_SYNCHRONOUS')]
  return connected === 0 ? [] : [warning(name, 'STANDBY_UNUSED', { count: connected })]
}

function checkPartitions(end: number, now: number): Check {
  const days = Math.floor((end - now) / DAY_MILLISECONDS)
  const until = { until: isoMilliseconds(end) }
  if (days >= SOME_DAYS) return ok('partitions', 'PARTITIONS_ENOUGH', until)
  return (days < FEW_DAYS ? failed : warning)('partitions', 'PARTITIONS_END', until)
}

function checkLocks({ ofServer, writers }: NonNullable<StoreFacts['locks']>): Check[] {
  const checks: Check[] = []
  if (ofServer === false) checks.push(failed('locks', 'LOCK_LOST'))
  if (writers.length > 0) checks.push(warning('locks', 'LOCK_OF_OTHERS', { programs: writers }))
  return checks.length === 0 && ofServer === true ? [ok('locks', 'LOCK_HELD')] : checks
}
