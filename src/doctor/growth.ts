import type { Config } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import { DAY_MILLISECONDS, HOUR_MILLISECONDS } from '#src/lib/duration.ts'
import { findLeftPartials } from '#src/store/open-store.ts'
import type { DiskUse, Store } from '#src/store/store.ts'
import { type Check, failed, ok, skipped, warning } from './checks.ts'

/** Looks back this far. */
const PERIOD_DAYS = 7
/** The check fails below the first limit and warns below the second. */
const FEW_DAYS = 3
const SOME_DAYS = 30
const TEN_YEARS_DAYS = 3650

/** The size of a delivery is taken from the latest ones: most of the file may be older, or removed by a purge. */
const SAMPLE = 1000
/** Deliveries that are counted here because the server has not yet. */
const MAX_COUNTED = 50_000
/** The size of a delivery without its payload: its columns, indexes and order, and its part of unused room in pages. */
const BYTES_BESIDE_PAYLOAD = 400

/** Compares the free space with the growth of the last days, reckoned from the number of deliveries and their average size. */
export async function checkGrowth({ deliveries, rollUps }: Store, free: number, now: number): Promise<Check[]> {
  const [first] = (await deliveries.after(0, {}, { limit: 1, scan: 1 })).deliveries
  if (first === undefined) return []
  const start = Math.max(first.receivedAt, now - PERIOD_DAYS * DAY_MILLISECONDS)
  // A shorter time would say little about the days to come.
  const days = Math.max(1, (now - start) / DAY_MILLISECONDS)
  const sample = await deliveries.before(Number.MAX_SAFE_INTEGER, { from: start }, { limit: SAMPLE, scan: SAMPLE })
  const range = { customerId: undefined, from: hourOf(start), to: hourOf(now) + 1, hoursEach: 1 }
  const counts = await rollUps.read(range, MAX_COUNTED)
  const count = counts.deliveries.flatMap(({ byStatus }) => byStatus).reduce((sum, each) => sum + each, 0)
  const bytes = sample.deliveries.reduce((sum, { payloadBytes }) => sum + payloadBytes + BYTES_BESIDE_PAYLOAD, 0)
  const perDay = (count / days) * (bytes / Math.max(1, sample.deliveries.length))
  const left = Math.floor(free / Math.max(1, perDay))
  const growth = { perDay: Math.round(perDay), period: PERIOD_DAYS, left }
  if (left > TEN_YEARS_DAYS) return [ok('growth', 'GROWTH_YEARS', growth)]
  if (left >= SOME_DAYS) return [ok('growth', 'GROWTH_DAYS', growth)]
  return [(left < FEW_DAYS ? failed : warning)('growth', 'GROWTH_FULL', growth)]
}

const hourOf = (time: number): number => Math.floor(time / HOUR_MILLISECONDS)

/** The check warns from this part of the bound on: a log is copied long before, unless somebody reads an old state. */
const LARGE_LOG = 3 / 4

/** Compares the log of a file with its bound, at which deliveries are refused. */
export function checkLog({ wal, mostWal }: DiskUse): Check[] {
  if (wal === undefined || mostWal === undefined) return []
  const name = 'log'
  const sizes = { size: wal, limit: mostWal }
  if (wal <= mostWal * LARGE_LOG) return [ok(name, 'LOG_SMALL', sizes)]
  return [(wal > mostWal ? failed : warning)(name, 'LOG_LARGE', sizes)]
}

/** The alert TeslimBackupOld has the same limit. */
const OLD_BACKUP_HOURS = 36

/** Other tools than `teslim backup` leave no trace. */
export async function checkBackups(store: Store, config: Config, now: number): Promise<Check[]> {
  const name = 'backup'
  try {
    const left = findLeftPartials(config).map((path) => warning(name, 'BACKUP_LEFT', { path }))
    return [checkAge(await store.lastBackupAt(), config, now), ...left]
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [warning(name, 'BACKUP_UNKNOWN', { reason: error.text })]
  }
}

function checkAge(at: number | undefined, { environment }: Config, now: number): Check {
  const name = 'backup'
  if (at === undefined) return (environment === 'production' ? warning : skipped)(name, 'BACKUP_NONE')
  const last = { ago: Math.floor((now - at) / HOUR_MILLISECONDS), at: isoMilliseconds(at) }
  if (last.ago === 0) return ok(name, 'BACKUP_JUST_MADE', { at: last.at })
  return last.ago < OLD_BACKUP_HOURS ? ok(name, 'BACKUP_RECENT', last) : warning(name, 'BACKUP_OLD', last)
}
