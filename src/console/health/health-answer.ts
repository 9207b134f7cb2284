import type { Config } from '#src/config/load-config.ts'
import { type Check, failed, worstOf } from '#src/doctor/checks.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import { VERSION } from '#src/lib/version.ts'
import type { Report } from './examiner.ts'
import type { Minute } from './minutes.ts'

/** Refusals that could not be written to the audit log since a time. */
interface Behind {
  readonly since: number
  readonly waiting: number
  readonly reason: string
}

/** Adds what only this process knows. */
export function withBehind(report: Report, behind: Behind | undefined): Report {
  if (behind === undefined) return report
  const { since, waiting, reason } = behind
  const values = { since: isoMilliseconds(since), count: waiting, reason }
  return { ...report, checks: [...report.checks, failed('audit log', 'AUDIT_WAITS', values)] }
}

export const healthAnswer = (
  { databaseUrl }: Pick<Config, 'databaseUrl'>,
  startedAt: number,
  { checkedAt, checks }: Report,
  minutes: readonly Minute[],
) => ({
  Version: VERSION,
  NodeVersion: process.versions.node,
  Store: databaseUrl.startsWith('sqlite:') ? ('sqlite' as const) : ('postgres' as const),
  StartedAt: isoMilliseconds(startedAt),
  CheckedAt: isoMilliseconds(checkedAt),
  Status: worstOf(checks),
  Checks: checks.map(checkAnswer),
  Minutes: minutes.map(minuteAnswer),
})

const checkAnswer = ({ name, status, message, code, values }: Check) => ({
  Name: name,
  Status: status,
  Message: message,
  Code: code,
  Values: values,
})

const minuteAnswer = (minute: Minute) => ({
  At: isoMilliseconds(minute.at),
  Requests: minute.requests,
  Refusals5xx: minute.failed,
  P50Ms: minute.p50Ms,
  P99Ms: minute.p99Ms,
  EventLoopP99Ms: minute.eventLoopP99Ms,
  RssBytes: minute.rssBytes,
  CpuPercent: minute.cpuPercent,
})
