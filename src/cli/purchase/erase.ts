import { inOtherWords } from '#src/lib/app-error.ts'
import { textOf } from '#src/lib/messages/message.ts'
import { counted } from '#src/lib/printable.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import {
  deliveryToErase,
  type ErasureTarget,
  erase,
  type FindTarget,
  orderToErase,
} from '#src/purchase/purge/erase-some.rule.ts'
import type { CliContext, Command, Input, Printed } from '../command.ts'
import { byPrefix, findReceipt } from '../input/id-prefix.ts'
import { notReachedLines } from '../output/notes.ts'
import { recordAction } from '../with-accounts.ts'
import { withStore } from '../with-store.ts'

const DRY_RUN = { 'dry-run': { about: 'Only count what would be erased' } } as const

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
    customer: { value: 'CUSTOMER', required: true, about: 'The customer of the order: e-mail address or id' },
    ...DRY_RUN,
  },
  run: (input, context) =>
    run('order erase', input, context, async (dependencies) => [
      await orderToErase(dependencies, input.text('customer') ?? '', input.word).catch(
        inOtherWords(purchaseErrors.orderNotFound, `The customer has no order ${JSON.stringify(input.word)}.`),
      ),
    ]),
}

type FindTargets = (stores: Parameters<FindTarget>[0]) => Promise<ErasureTarget[]>

async function run(name: string, input: Input, context: CliContext, find: FindTargets): Promise<Printed> {
  const dryRun = input.flag('dry-run')
  const report = await withStore(context, dryRun ? 'read' : 'change', async (store, { databaseUrl }) => {
    const options = {
      stores: { ...store, customers: byPrefix(store.customers) },
      databaseUrl,
      clock: context.clock,
      wait: (milliseconds: number): Promise<void> => context.wait(dryRun ? 0 : milliseconds),
      record: recordAction(store, context),
      onProgress: (deliveries: number) => context.progress(counted(deliveries, 'delivery', 'deliveries')),
      dryRun,
    }
    return erase(options, find).finally(() => context.progress(''))
  })
  const { deliveries, refusedBodies, left } = report
  const unreached = report.unreached.map((each) => textOf(each))
  if (left !== undefined) context.err(`teslim ${name}: ${textOf(left)}`)
  const what = `${counted(deliveries, 'delivery', 'deliveries')} and ${counted(refusedBodies, 'refused body', 'refused bodies')}`
  return {
    json: { dryRun, deliveries, refusedBodies, ...(!dryRun && { unreached }) },
    text: () =>
      [`${dryRun ? 'Would erase' : 'Erased'} ${what}.`, ...(dryRun ? [] : notReachedLines(unreached))].join('\n'),
    status: left === undefined ? 0 : 1,
  }
}
