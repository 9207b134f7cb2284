import { type Clock, isoMilliseconds } from '#src/lib/clock.ts'
import type { Log } from '#src/lib/log/logger.ts'
import { every } from '#src/lib/time/every.ts'
import type { VersionWatch } from '#src/lib/version-watch.ts'
import type { ApiKeyStore, Silent } from '#src/store/store.ts'
import { SOON_MILLISECONDS } from '../api-key.rule.ts'
import type { Silence } from './silence.rule.ts'

export type SilenceWatch = ReturnType<typeof createSilenceWatch>

const FIRST_MILLISECONDS = 2_000
const AGAIN_MILLISECONDS = 60_000
/** A failover of the database may take changes of accounts back, and then reach the same version with others. */
const NOBODY_MILLISECONDS = 15 * 60_000
/** Lines of the log that one look may write of each kind. A clock that jumps makes everybody silent at once. */
const MAX_LINES = 50

export interface SilenceWatchParts {
  readonly silence: Pick<Silence, 'walk'>
  readonly apiKeys: Pick<ApiKeyStore, 'summaries'>
  /** Change with every account. */
  readonly versions: Pick<VersionWatch, 'makeFresh' | 'version'>
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn'>
}

/** Logs who falls silent and who is heard again. While the store is away, the last answer stands. */
export function createSilenceWatch({ silence, apiKeys, versions, clock, log }: SilenceWatchParts) {
  /** The version of the accounts with which nobody is watched, and how long that is believed. */
  let nobody: { readonly asOf: number; readonly until: number } | undefined
  let known: ReadonlyMap<string, Silent> | undefined
  let isStopping = false

  const sayNew = (found: readonly Silent[]): void => {
    for (const { customerId, since, everHeard } of found.slice(0, MAX_LINES)) {
      if (everHeard) log.warn({ customerId, lastUsedAt: isoMilliseconds(since) }, 'a supplier is silent')
      else log.warn({ customerId, keySince: isoMilliseconds(since) }, 'a supplier has a key and has never delivered')
    }
    const more = found.length - MAX_LINES
    if (more > 0) log.warn({ suppliers: more }, 'more suppliers are silent')
  }

  const sayEnded = async (ended: readonly Silent[]): Promise<void> => {
    const some = ended.slice(0, MAX_LINES)
    if (some.length === 0) return
    const now = clock.now()
    const ids = some.map(({ customerId }) => customerId)
    const summaries = await apiKeys.summaries(ids, { now, soon: now + SOON_MILLISECONDS })
    const lastUses = new Map(summaries.map(({ customerId, lastUsedAt }) => [customerId, lastUsedAt]))
    for (const { customerId, since, everHeard } of some) {
      const lastUsedAt = lastUses.get(customerId) ?? null
      // Else it was disabled or removed, lost its rules, or may be silent for longer.
      const isHeard = lastUsedAt !== null && (!everHeard || lastUsedAt !== since)
      log.info({ customerId }, isHeard ? 'a supplier is heard again' : 'a supplier no longer counts as silent')
    }
    const more = ended.length - MAX_LINES
    if (more > 0) log.info({ suppliers: more }, 'more suppliers are no longer silent')
  }

  const look = async (): Promise<void> => {
    await versions.makeFresh()
    const asOf = versions.version()
    if (asOf === nobody?.asOf && clock.monotonic() < nobody.until) return
    const found = new Map<string, Silent>()
    let isAnyWatched = false
    for await (const { silent, isWatched } of silence.walk()) {
      if (isStopping) return
      isAnyWatched ||= isWatched
      for (const one of silent) found.set(one.customerId, one)
    }
    const before = known
    if (before === undefined) {
      if (found.size > 0) log.warn({ suppliers: found.size }, 'suppliers are silent: teslim doctor names them')
    } else {
      await sayEnded([...before.values()].filter(({ customerId }) => !found.has(customerId)))
      sayNew([...found.values()].filter(({ customerId }) => !before.has(customerId)))
    }
    known = found
    nobody = isAnyWatched ? undefined : { asOf, until: clock.monotonic() + NOBODY_MILLISECONDS }
  }

  const { start, stop } = every({
    firstMilliseconds: FIRST_MILLISECONDS,
    async work() {
      await look()
      return AGAIN_MILLISECONDS
    },
    onFailed(error, inARow) {
      if (inARow === 1) log.warn({ err: error }, 'who is silent could not be looked for')
      return AGAIN_MILLISECONDS
    },
  })

  return {
    /** Looks now. */
    look,
    /** How many were silent at the last look that succeeded; undefined before the first. */
    count: () => known?.size,
    start,
    stop() {
      isStopping = true
      return stop()
    },
  }
}
