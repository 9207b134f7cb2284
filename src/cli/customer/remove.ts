import { setTimeout as wait } from 'node:timers/promises'
import { textOf } from '#src/lib/messages/message.ts'
import { counted } from '#src/lib/printable.ts'
import { eraseDeliveries, unreached, wipeLog } from '#src/purchase/purge/erase.rule.ts'
import { createYielding } from '#src/purchase/purge/purge.rule.ts'
import type { Command } from '../command.ts'
import { withAccounts } from '../with-accounts.ts'

export const customerRemove: Command = {
  name: 'customer remove',
  about: 'Forget a customer: keys and tokens end, its deliveries stay',
  details:
    'The e-mail address, name, note, password, regions, rules, labels and last uses of its keys are removed; the deliveries stay under its id. This cannot be undone. With --erase it can be run again, by the id, for example after an interruption.',
  positionals: ['CUSTOMER'],
  options: {
    erase: {
      type: 'boolean',
      about:
        'Also overwrite payloads, order ids, idempotency keys, addresses and request ids of its deliveries; receipts, times and digests stay',
    },
  },
  async run(input, context) {
    const [who = ''] = input.positionals
    const erase = input.flag('erase')
    const removed = await withAccounts(context, 'change', async ({ customers }, { purges, refused, webhooks }) => {
      const { id } = await customers.remove(who, erase)
      const paused = await webhooks.pauseAll('customer-removed', context.clock.now(), id)
      const pause = (milliseconds: number) => wait(milliseconds)
      if (!erase) return { id, paused, erased: undefined, left: await wipeLog(purges, pause) }
      const yielding = createYielding(context.clock, pause)
      const onProgress = (deliveries: number): void =>
        context.progress(`${counted(deliveries, 'delivery', 'deliveries')} erased`)
      const { deliveries, left } = await eraseDeliveries({ purges, refused, yielding, wait: pause, onProgress }, id)
      context.progress('')
      return { id, paused, erased: deliveries, left }
    })
    const { id, paused, erased, left } = removed
    const notReached = unreached(context.loadConfig().config.databaseUrl, 'customer').map((each) => textOf(each))
    if (left !== undefined) context.err(`teslim customer remove: ${textOf(left)}`)
    if (input.json) {
      const more = {
        ...(paused > 0 && { endpointsPaused: paused }),
        ...(erased !== undefined && { erased, unreached: notReached }),
      }
      context.out(JSON.stringify({ id, removed: true, ...more }))
    } else if (erased === undefined) {
      context.out(`The customer ${id} is removed. Its deliveries stay under this id.`)
    } else {
      context.out(
        [
          `The customer ${id} is removed, and ${counted(erased, 'delivery was', 'deliveries were')} erased now.`,
          'Not reached:',
          ...notReached.map((each) => `  ${each}`),
        ].join('\n'),
      )
    }
    if (!input.json && paused > 0)
      context.out(`${counted(paused, 'endpoint')} of it ${paused === 1 ? 'is' : 'are'} paused: teslim webhook list`)
    return left === undefined ? 0 : 1
  },
}
