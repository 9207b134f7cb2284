import { setTimeout as wait } from 'node:timers/promises'
import { counted } from '#src/lib/printable.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import {
  countErasable,
  deliveryToErase,
  type EraseSomeDependencies,
  type ErasureTarget,
  eraseSome,
  orderToErase,
  UNREACHED,
} from '#src/purchase/purge/erase-some.rule.ts'
import { createYielding } from '#src/purchase/purge/purge.rule.ts'
import type { CliContext, Command, Input } from '../command.ts'
import { byPrefix, findReceipt } from '../input/id-prefix.ts'
import { recordAction } from '../with-accounts.ts'
import { withStore } from '../with-store.ts'
import { inOtherWords } from './with-purchases.ts'

const DRY_RUN = { 'dry-run': { type: 'boolean', about: 'Only count what would be erased' } } as const

const DETAILS =
  'Payloads, client addresses and request ids are overwritten; so are the bodies that were refused, if they are kept, and the answers of webhook endpoints. Receipts, Status, times, order ids, idempotency keys and digests stay, so that a retry still gets its receipt. This cannot be undone. It works beside a running server, and can be interrupted and run again.'

export const deliveryErase: Command = {
  name: 'delivery erase',
  about: 'Overwrite payload and sender of deliveries; receipts stay',
  details: `${DETAILS} Duplicates with the same bytes are erased, too; of refused bodies, those with the same bytes.`,
  positionals: ['RECEIPTID...'],
  options: DRY_RUN,
  run: (input, context) =>
    run('delivery erase', input, context, (dependencies) =>
      Promise.all(
        input.positionals.map(async (typed) =>
          deliveryToErase(dependencies, await findReceipt(typed, dependencies.deliveries)).catch(
            inOtherWords(purchaseErrors.deliveryNotFound, `There is no delivery ${JSON.stringify(typed)}.`),
          ),
        ),
      ),
    ),
}

export const orderErase: Command = {
  name: 'order erase',
  about: 'Overwrite payload and sender of all deliveries of an order',
  details: `${DETAILS} Deliveries that come later are kept as they come.`,
  positionals: ['ORDERID'],
  options: {
    customer: {
      type: 'string',
      value: 'CUSTOMER',
      required: true,
      about: 'The customer of the order: e-mail address or id',
    },
    ...DRY_RUN,
  },
  run(input, context) {
    const [orderId = ''] = input.positionals
    return run('order erase', input, context, async (dependencies) => {
      const target = orderToErase(dependencies, input.text('customer') ?? '', orderId)
      return [
        await target.catch(
          inOtherWords(purchaseErrors.orderNotFound, `The customer has no order ${JSON.stringify(orderId)}.`),
        ),
      ]
    })
  },
}

type FindTargets = (dependencies: EraseSomeDependencies) => Promise<ErasureTarget[]>

async function run(name: string, input: Input, context: CliContext, find: FindTargets): Promise<number> {
  const dryRun = input.flag('dry-run')
  const pause = (milliseconds: number): Promise<void> => wait(dryRun ? 0 : milliseconds)
  const report = await withStore(context, dryRun ? 'read' : 'change', async (store) => {
    const dependencies: EraseSomeDependencies = {
      ...store,
      customers: byPrefix(store.customers),
      yielding: createYielding({ clock: context.clock, wait: pause }),
      wait: pause,
      onProgress: (deliveries) => context.progress(counted(deliveries, 'delivery', 'deliveries')),
    }
    try {
      const targets = await find(dependencies)
      if (dryRun) return { ...(await countErasable(dependencies, targets)), left: undefined }
      return await eraseSome({ ...dependencies, record: recordAction(store, context) }, targets)
    } finally {
      context.progress('')
    }
  })
  const { deliveries, refusedBodies, left } = report
  if (left !== undefined) context.err(`teslim ${name}: ${left}`)
  if (input.json) {
    context.out(JSON.stringify({ dryRun, deliveries, refusedBodies, ...(!dryRun && { unreached: UNREACHED }) }))
  } else {
    const what = `${counted(deliveries, 'delivery', 'deliveries')} and ${counted(refusedBodies, 'refused body', 'refused bodies')}`
    const rest = dryRun ? [] : ['Not reached:', ...UNREACHED.map((each) => `  ${each}`)]
    context.out([`${dryRun ? 'Would erase' : 'Erased'} ${what}.`, ...rest].join('\n'))
  }
  return left === undefined ? 0 : 1
}
