import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import type { Log } from '#src/lib/log/logger.ts'
import { every } from '#src/lib/time/every.ts'
import type { Store } from '#src/store/store.ts'
import { createYielding, giveBack, type PurgeReport, purgeDeliveries, type Yielding } from './purge.rule.ts'

type Settings = Pick<Config, 'retentionDays' | 'retentionOrders' | 'retentionUnsent'>

const FIRST_MILLISECONDS = 2_000
const AGAIN_MILLISECONDS = 600_000
/** Another replica takes over when one has not renewed its claim for this long. */
const CLAIM_MILLISECONDS = 60_000

class Stopped extends Error {}

/**
 * Removes what is older than the settings say, once a day, by one replica at a time, and makes the months ahead where deliveries
 * are partitioned.
 */
export function createDeliveryRetention(
  { purges, audit }: Pick<Store, 'purges' | 'audit'>,
  clock: Clock,
  log: Pick<Log, 'info' | 'warn'>,
  { retentionDays: days, retentionOrders, retentionUnsent }: Settings,
) {
  const [orders, unsent] = [retentionOrders === 'on', retentionUnsent === 'on']
  const stopping = new AbortController()
  let claimedUntil = 0
  let done = false

  const withPauses = createYielding(clock, (milliseconds) =>
    wait(milliseconds, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined),
  )
  const yielding: Yielding = async (step) => {
    const now = clock.now()
    if (stopping.signal.aborted) throw new Stopped()
    if (claimedUntil - now < CLAIM_MILLISECONDS / 2) {
      if (!(await purges.renew(claimedUntil, now + CLAIM_MILLISECONDS))) throw new Stopped()
      claimedUntil = now + CLAIM_MILLISECONDS
    }
    return withPauses(step)
  }

  /** Deliveries that are a day old vouch for one day more: a clock that jumps ahead must not make everything old. */
  const timeOfStore = async (now: number): Promise<number> => {
    const received = await purges.receivedBefore(now - DAY_MILLISECONDS)
    return received === undefined ? now : received + DAY_MILLISECONDS
  }

  const purge = async (): Promise<PurgeReport | undefined> => {
    const now = clock.now()
    const nowOfStore = await timeOfStore(now)
    const before = nowOfStore - days * DAY_MILLISECONDS
    const until = now + CLAIM_MILLISECONDS
    // The setting may have been changed before the start.
    const due = orders && !done ? now : before - DAY_MILLISECONDS
    if (!(await purges.claim({ now, until, due }))) return undefined
    claimedUntil = until
    const onBegin = async (): Promise<void> => {
      const details = { before: new Date(before).toISOString(), orders, unsent }
      const nobody = { customerId: null, address: null, requestId: null, refusalId: null, orderId: null, keyId: null }
      await audit.append([{ at: now, actor: 'server', action: 'delivery.purge', ...nobody, details }])
    }
    const scope = { before, orders, unsent, now: nowOfStore }
    const report = await purgeDeliveries({ purges, yielding }, { ...scope, onBegin })
    await giveBack({ purges, yielding })
    await purges.finish(before, report.webhooks)
    done = true
    const { dropped } = await purges.keepMonths(before)
    const { webhooks, ...removed } = report
    log.info({ before: new Date(before).toISOString(), ...removed, months: dropped }, 'old deliveries were removed')
    for (const { id: endpoint, kept, removed } of webhooks) {
      if (kept > 0)
        log.warn({ endpoint, deliveries: kept }, 'old deliveries stay, because a webhook endpoint has not taken them')
      if (removed > 0)
        log.warn({ endpoint, deliveries: removed }, 'deliveries were removed that a webhook endpoint had not taken')
    }
    return report
  }

  const runDue = async (): Promise<PurgeReport | undefined> => {
    const { made } = await purges.keepMonths(0)
    if (made > 0) log.info({ made }, 'partitions for the months ahead were made')
    return days > 0 ? purge() : undefined
  }

  const { start, stop } = every({
    firstMilliseconds: FIRST_MILLISECONDS,
    async work() {
      await runDue()
      return AGAIN_MILLISECONDS
    },
    onFailed(error) {
      if (!(error instanceof Stopped)) log.warn({ err: error }, 'old deliveries could not be removed')
      return AGAIN_MILLISECONDS
    },
  })

  return {
    /** Does what is due now. Resolves to what was removed, if anything was due. */
    runDue,
    start,
    stop() {
      stopping.abort()
      return stop()
    },
  }
}
