import type { Config } from '#src/config/load-config.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import { textOf } from '#src/lib/messages/message.ts'
import { counted } from '#src/lib/printable.ts'
import { wipeLog } from '#src/purchase/purge/erase.rule.ts'
import { createYielding, giveBack, type PurgeReport, purgeDeliveries } from '#src/purchase/purge/purge.rule.ts'
import { keepServersOff } from '#src/store/open-store.ts'
import { type Command, Misuse } from './command.ts'
import { readDuration } from './input/time.ts'
import { recordAction } from './with-accounts.ts'
import { withStore } from './with-store.ts'

export const purge: Command = {
  name: 'purge',
  about: 'Remove old deliveries and give their room back',
  details:
    'It works beside a running server, gradually, and can be interrupted and run again. The server does the same by itself where TESLIM_RETENTION_DAYS is set. Every order keeps the delivery that made its state and its latest one. With --orders, old orders are removed completely. Deliveries that a webhook endpoint has not taken stay, unless --unsent is given or the endpoint has been paused for more than 30 days.',
  options: {
    older: {
      value: 'TIME',
      about:
        'Remove deliveries received longer ago than this: days (400d), hours (h), minutes (m) or seconds (s), or 0 for any age',
    },
    orders: { about: 'Remove orders whose latest delivery is older than that, too' },
    unsent: { about: 'Remove deliveries that a webhook endpoint has not taken, too; teslim webhook show counts them' },
    'dry-run': { about: 'Only count what would be removed' },
    rewrite: {
      about:
        "Rewrite the file of an SQLite store: removes what an erasure left in unused pages; no server may run; needs up to twice the file's size in free room",
    },
  },
  async run(input, context) {
    const older = input.text('older')
    const age = readDuration(input, 'older', '400d or 24h', true)
    const [orders, unsent] = [input.flag('orders'), input.flag('unsent')]
    const [dryRun, rewrite] = [input.flag('dry-run'), input.flag('rewrite')]
    if (age === undefined && !rewrite) throw new Misuse('--older is required, such as --older 400d')
    if (age === undefined && (orders || unsent || dryRun))
      throw new Misuse('--orders, --unsent and --dry-run need --older')
    if (age) refuseForgettingKeys(age, `--older ${older}`, context.loadConfig().config)
    const now = context.clock.now()
    const before = now - (age ?? 0)
    const done = await withStore(context, dryRun ? 'read' : 'change', async (store, config) => {
      const { purges } = store
      if (rewrite && !config.databaseUrl.startsWith('sqlite:'))
        throw new Misuse('--rewrite is for an SQLite store, not for PostgreSQL')
      const lock =
        rewrite && !dryRun ? keepServersOff(config, context.clock.now(), 'teslim purge --rewrite') : undefined
      const record = recordAction(store, context)
      const pause = (milliseconds: number): Promise<void> => context.wait(dryRun ? 0 : milliseconds)
      const yielding = createYielding(context.clock, pause)
      try {
        const onBegin = () => record('delivery.purge', null, { before: new Date(before).toISOString(), orders, unsent })
        const onProgress = (report: PurgeReport) => context.progress(countedDeliveries(report.deliveries))
        const report =
          age === undefined
            ? { deliveries: 0, orders: 0, payloadBytes: 0, webhooks: [] }
            : await purgeDeliveries({ purges, yielding }, { before, orders, unsent, now, dryRun, onBegin, onProgress })
        if (dryRun) return { ...report, months: [], left: undefined }
        context.progress('giving room back')
        if (rewrite) {
          await purges.rewrite()
          await record('store.rewrite', null)
        } else await giveBack({ purges, yielding })
        const left = rewrite ? await wipeLog(purges, pause) : undefined
        const months = age === undefined ? [] : (await purges.keepMonths(before)).dropped
        return { ...report, months, left }
      } finally {
        context.progress('')
        lock?.release()
      }
    })
    if (done.left !== undefined) context.err(`teslim purge: ${textOf(done.left)}`)
    const { left: _, ...counts } = done
    const webhooks = done.webhooks.map(({ id, kept, removed }) => ({ id, kept, removed }))
    return {
      json: { before: new Date(before).toISOString(), dryRun, ...counts, webhooks },
      text: () =>
        age === undefined
          ? 'The file is rewritten.'
          : purgedText({ ...done, dryRun, before: context.times.stamp(before) }),
      status: done.left === undefined ? 0 : 1,
    }
  },
}

interface Purged extends Pick<PurgeReport, 'deliveries' | 'orders' | 'payloadBytes' | 'webhooks'> {
  readonly months: readonly string[]
  readonly dryRun: boolean
  readonly before: string
}

function purgedText({ deliveries, orders, payloadBytes, webhooks, months, dryRun, before }: Purged): string {
  const what = `${countedDeliveries(deliveries)} (${counted(payloadBytes, 'byte')} of payload) and ${counted(orders, 'order')}`
  return [
    `${dryRun ? 'Would remove' : 'Removed'} ${what}, received before ${before}.`,
    ...webhooks.flatMap(({ id, kept, removed }) => [
      ...(kept > 0
        ? [
            `${dryRun ? 'Would keep' : 'Kept'} ${counted(kept, 'old delivery', 'old deliveries')} that webhook endpoint ${id} has not taken: see teslim webhook show ${id}. --unsent removes them, too.`,
          ]
        : []),
      ...(removed > 0
        ? [
            `Of ${dryRun ? 'what would be removed' : 'what was removed'}, webhook endpoint ${id} has not taken ${countedDeliveries(removed)}.`,
          ]
        : []),
    ]),
    ...(months.length > 0 ? [`Dropped the partitions ${months.join(', ')}.`] : []),
  ].join('\n')
}

const countedDeliveries = (count: number): string => counted(count, 'delivery', 'deliveries')

/** An idempotency key is removed with its delivery. 0 is allowed: nobody types it by mistake. */
function refuseForgettingKeys(age: number, option: string, { idempotencyDays }: Config): void {
  if (age >= idempotencyDays * DAY_MILLISECONDS) return
  throw new Misuse(
    `${option} is less than TESLIM_IDEMPOTENCY_DAYS (${counted(idempotencyDays, 'day')}): retries would be stored twice`,
  )
}
