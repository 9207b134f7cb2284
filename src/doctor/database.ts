import type { Config } from '#src/config/load-config.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import { counted } from '#src/lib/printable.ts'
import type { StoreFacts } from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import { type Check, failed, ok, warning } from './checks.ts'

/** Clocks that are kept right differ by far less. */
const CLOCK_MILLISECONDS = 2000
const MAX_COUNTED = 10_000
/** The check fails below the first limit and warns below the second. */
const FEW_DAYS = 7
const SOME_DAYS = 60

const OPEN_TO_ALL =
  'every role of the database server may connect to this database, and stop all deliveries by holding a lock: REVOKE CONNECT, TEMPORARY ON DATABASE ... FROM PUBLIC, and GRANT CONNECT to the roles that need it'

/** Judges what the database says about itself. `asked` is the time on this machine when it said so. */
export function checkFacts(facts: StoreFacts, { databasePool }: Config, asked: number): Check[] {
  const { database, supported, unfit, now, connections, openToAll, standbys, partitionsEnd, locks } = facts
  const checks: Check[] = [
    supported
      ? ok('database', database)
      : failed('database', `${database} is too old: PostgreSQL 14 or later is needed`),
  ]
  if (unfit !== null) checks.push(failed('database', unfit))
  if (now !== null) checks.push(checkClock(now - asked))
  if (connections !== null) checks.push(checkConnections(connections, databasePool))
  if (openToAll) checks.push(warning('rights', OPEN_TO_ALL))
  if (standbys !== null) checks.push(...checkStandbys(standbys))
  if (partitionsEnd !== null) checks.push(checkPartitions(partitionsEnd, asked))
  return [...checks, ...(locks === null ? [] : checkLocks(locks))]
}

/** Says when deliveries last went on after a failover, and for a day that some may be lost. */
export async function checkHistory({ deliveries, history }: Store, now: number): Promise<Check[]> {
  const name = 'failovers'
  const { timeline, resumed } = await history()
  const known = timeline === null ? 'PostgreSQL does not tell this role its timeline' : `timeline ${timeline}`
  if (resumed === null)
    return [ok(name, `${known}; deliveries have gone on without a failover since the store was made`)]
  const { at, lastPosition } = resumed
  const [last] = (await deliveries.before(lastPosition + 1, {}, { limit: 1, scan: 1 })).deliveries
  const left = last === undefined ? 'no delivery' : `deliveries up to ${last.receiptId}`
  const message = `${known}; the last failover or recovery, noticed at ${isoMilliseconds(at)}, left ${left}, and cursors after that are refused with DELIVERIES_LOST`
  if (now - at > DAY_MILLISECONDS) return [ok(name, message)]
  const advice =
    'unless a synchronous standby took over, later ones are lost: suppliers must send them again (docs/postgresql.md, "When a failover lost deliveries")'
  return [warning(name, `${message}; ${advice}`)]
}

function checkClock(ahead: number): Check {
  const name = 'clock'
  if (Math.abs(ahead) < CLOCK_MILLISECONDS) return ok(name, 'this machine and the database agree within 2 s')
  const how = `${(Math.abs(ahead) / 1000).toFixed(1)} s ${ahead < 0 ? 'ahead of' : 'behind'}`
  const message = `this machine is ${how} the database: synchronise both (NTP), since tokens, keys and times of receipt go by it`
  return warning(name, message)
}

/** A store on one machine has only its own deliveries to compare the clock with. */
export async function checkFuture({ deliveries }: Store, now: number): Promise<Check[]> {
  const count = await deliveries.countFrom(now + CLOCK_MILLISECONDS, MAX_COUNTED)
  if (count === 0) return []
  const many = `${count === MAX_COUNTED ? 'at least ' : ''}${counted(count, 'delivery was', 'deliveries were')}`
  return [warning('clock', `${many} received later than it is now: the clock was set back, check it (NTP)`)]
}

function checkConnections({ used, most }: { readonly used: number; readonly most: number }, pool: number): Check {
  const message = `${used} of ${most} connections are in use`
  if (most - used >= pool) return ok('connections', message)
  const advice = `too few are left for one more replica (TESLIM_DATABASE_POOL ${pool}): raise max_connections`
  return warning('connections', `${message}: ${advice}`)
}

function checkStandbys({ connected, synchronous }: NonNullable<StoreFacts['standbys']>): Check[] {
  const name = 'standby'
  if (synchronous) return [ok(name, 'commits wait for a synchronous standby')]
  if (connected === 0) return []
  const advice = 'name one in synchronous_standby_names, with synchronous_commit on'
  const message = `${counted(connected, 'standby is', 'standbys are')} connected, but commits wait for none, so a failover may lose deliveries that were confirmed: ${advice}`
  return [warning(name, message)]
}

function checkPartitions(end: number, now: number): Check {
  const days = Math.floor((end - now) / DAY_MILLISECONDS)
  const message = `deliveries have partitions until ${new Date(end).toISOString().slice(0, 10)}`
  if (days >= SOME_DAYS) return ok('partitions', message)
  const advice = 'after that deliveries are refused: make more with teslim_make_month'
  return (days < FEW_DAYS ? failed : warning)('partitions', `${message}; ${advice}`)
}

function checkLocks({ ofServer, writers }: NonNullable<StoreFacts['locks']>): Check[] {
  const checks: Check[] = []
  if (ofServer === false) {
    const message =
      'the server holds no lock on its file, so another program could delete its log: restart it, and let nothing but SQLite open the file'
    checks.push(failed('locks', message))
  }
  if (writers.length > 0) {
    checks.push(warning('locks', `${writers.join(', ')} may hold up deliveries: it has a write lock on the file`))
  }
  return checks.length === 0 && ofServer === true ? [ok('locks', 'the server holds its lock on the file')] : checks
}
