import { textOf } from '#src/lib/messages/message.ts'
import { counted } from '#src/lib/printable.ts'
import { eraseDeliveries, unreached, wipeLog } from '#src/purchase/purge/erase.rule.ts'
import { createYielding } from '#src/purchase/purge/purge.rule.ts'
import type { Command } from '../command.ts'
import { notReachedLines } from '../output/notes.ts'
import { withAccounts } from '../with-accounts.ts'

export const customerRemove: Command = {
  name: 'customer remove',
  about: 'Forget a customer: keys and tokens end, its deliveries stay',
  details:
    'The e-mail address, name, note, password, regions, rules, labels and last uses of its keys are removed; the deliveries stay under its id. This cannot be undone. With --erase it can be run again, by the id, for example after an interruption.',
  positionals: ['CUSTOMER'],
  options: {
    erase: {
      about:
        'Also overwrite payloads, order ids, idempotency keys, addresses and request ids of its deliveries, and order ids and request ids of its refusals; receipts, times and digests stay',
    },
  },
  async run(input, context) {
    const erase = input.flag('erase')
    const { clock, wait } = context
    const removed = await withAccounts(context, 'change', async ({ customers }, { purges, refused, webhooks }) => {
      const { id } = await customers.remove(input.word, erase)
      const paused = await webhooks.pauseAll('customer-removed', clock.now(), id)
      if (!erase) return { id, paused, erased: undefined, left: await wipeLog(purges, wait) }
      const yielding = createYielding(clock, wait)
      const onProgress = (deliveries: number): void =>
        context.progress(`${counted(deliveries, 'delivery', 'deliveries')} erased`)
      const { deliveries, left } = await eraseDeliveries({ purges, refused, yielding, wait, onProgress }, id)
      context.progress('')
      return { id, paused, erased: deliveries, left }
    })
    const { id, paused, erased, left } = removed
    if (left !== undefined) context.err(`teslim customer remove: ${textOf(left)}`)
    const notReached = unreached(context.loadConfig().config.databaseUrl, 'customer').map((each) => textOf(each))
    const endpoints = `${counted(paused, 'endpoint')} of it ${paused === 1 ? 'is' : 'are'} paused: teslim webhook list`
    return {
      json: {
        id,
        removed: true,
        ...(paused > 0 && { endpointsPaused: paused }),
        ...(erased !== undefined && { erased, unreached: notReached }),
      },
      text: () =>
        [
          ...(erased === undefined
            ? [`The customer ${id} is removed. Its deliveries stay under this id.`]
            : [
                `The customer ${id} is removed, and ${counted(erased, 'delivery was', 'deliveries were')} erased now.`,
                ...notReachedLines(notReached),
              ]),
          ...(paused > 0 ? [endpoints] : []),
        ].join('\n'),
      status: left === undefined ? 0 : 1,
    }
  },
}
