import { setTimeout as wait } from 'node:timers/promises'
import { AppError } from '#src/lib/app-error.ts'
import { parseDuration } from '#src/lib/duration.ts'
import { createPace } from '#src/purchase/purge/pace.ts'
import { giveBack, purgeDeliveries } from '#src/purchase/purge/purge.rule.ts'
import { findServer } from '#src/store/open-store.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { type Command, Misuse } from './command.ts'
import { recordAction } from './with-accounts.ts'
import { withStore } from './with-store.ts'

export const purge: Command = {
  name: 'purge',
  about: 'Remove old deliveries and give their room back',
  details:
    'It works beside a running server, gradually, and can be interrupted and run again. The server does the same by itself where TESLIM_RETENTION_DAYS is set. Every order keeps the delivery that made its state and its latest one, unless --orders.',
  options: {
    older: { type: 'string', value: 'TIME', about: 'Remove deliveries received longer ago than this, such as 400d' },
    orders: { type: 'boolean', about: 'Remove orders whose latest delivery is older than that, too' },
    'dry-run': { type: 'boolean', about: 'Only count what would be removed' },
    rewrite: {
      type: 'boolean',
      about:
        'Rewrite the file of an embedded store once, so that it can shrink: for a file made by an earlier version, while no server uses it; needs twice as much free room as the file',
    },
  },
  async run(input, context) {
    const age = readAge(input.text('older'))
    const [orders, dryRun, rewrite] = [input.flag('orders'), input.flag('dry-run'), input.flag('rewrite')]
    if (age === undefined && !rewrite) throw new Misuse('--older is required, such as --older 400d')
    if (age === undefined && (orders || dryRun)) throw new Misuse('--orders and --dry-run need --older')
    const before = context.clock.now() - (age ?? 0)
    const done = await withStore(context, dryRun ? 'read' : 'change', async (store, config) => {
      const { purges } = store
      if (rewrite) {
        if (!config.databaseUrl.startsWith('sqlite:'))
          throw new Misuse('--rewrite is for an embedded store, not for PostgreSQL')
        const server = findServer(config)
        if (server !== undefined) {
          const message = `The store is in use by ${server}: stop that process before --rewrite.`
          throw new AppError(storeErrors.inUse, { message })
        }
      }
      const pace = createPace({
        clock: context.clock,
        wait: (milliseconds) => (dryRun ? Promise.resolve() : wait(milliseconds)),
      })
      const details = { before: new Date(before).toISOString(), orders }
      const report =
        age === undefined
          ? { deliveries: 0, orders: 0, payloadBytes: 0 }
          : await purgeDeliveries(
              { purges, pace },
              {
                before,
                orders,
                dryRun,
                onBegin: () => recordAction(store, context)('delivery.purge', null, details),
                onProgress: ({ deliveries }) => context.progress(`${deliveries.toLocaleString('en')} deliveries`),
              },
            )
      let months: readonly string[] = []
      if (!dryRun) {
        context.progress('giving room back')
        if (rewrite) await purges.rewrite()
        else await giveBack({ purges, pace })
        if (age !== undefined) months = (await purges.keepMonths(before)).dropped
      }
      context.progress('')
      return { ...report, months, stuckBytes: dryRun ? 0 : await purges.stuckBytes() }
    })
    if (done.stuckBytes > 0) {
      context.err(
        `teslim purge: the file was made by a version that could not let it shrink. New deliveries use the ${done.stuckBytes} bytes that are free in it. To shrink it, run "teslim purge --rewrite" once while the server is stopped.`,
      )
    }
    const { deliveries, orders: orderCount, payloadBytes, months } = done
    const beforeText = new Date(before).toISOString()
    if (input.json) {
      context.out(JSON.stringify({ before: beforeText, dryRun, deliveries, orders: orderCount, payloadBytes, months }))
      return
    }
    if (age === undefined) context.out('The file is rewritten.')
    else {
      const what = `${deliveries} deliveries (${payloadBytes} bytes of payload) and ${orderCount} orders`
      context.out(`${dryRun ? 'Would remove' : 'Removed'} ${what}, received before ${beforeText}.`)
      if (months.length > 0) context.out(`Dropped the partitions ${months.join(', ')}.`)
    }
  },
}

function readAge(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const age = parseDuration(text)
  if (age === undefined) throw new Misuse(`--older takes a time such as 400d or 24h, not "${text}"`)
  return age
}
