import { toView } from '#src/customer/api-key.rule.ts'
import { OPERATOR } from '#src/customer/find-customer.ts'
import { isoMilliseconds, isoOrNull } from '#src/lib/clock.ts'
import { displayName } from '#src/lib/display-name.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import { counted } from '#src/lib/printable.ts'
import { createCursors } from '#src/purchase/cursors.ts'
import { createDeliverySearch, type OnScanned } from '#src/purchase/orders/delivery-search.ts'
import { type KeyUse, readKeyUse } from '#src/purchase/orders/key-use.rule.ts'
import { createFindKey } from '#src/purchase/origin-filter.ts'
import { STATUS_MEANINGS } from '#src/purchase/status.ts'
import type { Command } from '../command.ts'
import { readMoment } from '../input/time.ts'
import { fields, table } from '../output/table.ts'
import type { Times } from '../output/times.ts'
import { withAccounts } from '../with-accounts.ts'
import { keyJson, limitsOf, stateText, timeOrNever } from './keys.ts'

const DEFAULT_DAYS = 30
const MAX_NETWORKS = 10

export const keyShow: Command = {
  name: 'key show',
  about: 'Show an API key, what came with it, and from where',
  details:
    'Goes back through the deliveries of its customer. To list those of the key: teslim delivery list --key KEYID. Its refusals: teslim audit list --key KEYID.',
  positionals: ['KEYID'],
  options: {
    since: {
      value: 'TIME',
      about: `Count from this time on: 2026-11-21 (local unless --utc), 2026-11-21T14:30:00Z or 24h (ago); the last ${DEFAULT_DAYS} days if not given`,
    },
  },
  async run(input, context) {
    const { times } = context
    const now = context.clock.now()
    const since =
      readMoment('--since', input.text('since'), now, input.flag('utc')) ?? now - DEFAULT_DAYS * DAY_MILLISECONDS
    const { found, customer, use } = await withAccounts(context, 'read', async ({ keyIdOf }, store) => {
      const { apiKeys, audit, customers, secrets } = store
      const found = await createFindKey(apiKeys)(OPERATOR, await keyIdOf(input.word))
      const cursors = createCursors(secrets, context.random)
      const search = createDeliverySearch({ ...store, cursors, productsOf: () => [] })
      const onScanned: OnScanned = (done, all) => context.progress(`${done} of ${all}`)
      const use = await readKeyUse(search, audit, found, since, onScanned)
      context.progress('')
      return { found, customer: await customers.findById(found.customerId), use }
    })
    const key = toView(found, now)
    const { id, label, createdAt, expiresAt, lastUse } = key
    return {
      json: { ...keyJson(key), customer: customer?.email ?? '', since: isoMilliseconds(since), ...useJson(use) },
      text: () =>
        [
          fields(label === '' ? id : `${id} (${label})`, {
            customer: customer === undefined ? '' : displayName(customer),
            state: stateText(key, customer, now),
            created: times.text(createdAt),
            expires: timeOrNever(expiresAt, times),
            'last used': lastUse ? `${times.text(lastUse.usedAt)}, from ${lastUse.address}` : 'never',
            limits: limitsOf(key).join('; ') || 'none',
          }),
          '',
          ...useLines(use, since, times),
        ].join('\n'),
    }
  },
}

const useJson = ({ networks, firstAt, lastAt, refusals, ...use }: KeyUse) => ({
  ...use,
  firstAt: isoOrNull(firstAt),
  lastAt: isoOrNull(lastAt),
  networks: networks.slice(0, MAX_NETWORKS).map(([network, deliveries]) => ({ network, deliveries })),
  otherNetworks: Math.max(0, networks.length - MAX_NETWORKS),
  refusals: Object.fromEntries(refusals),
})

function useLines(use: KeyUse, since: number, times: Times): string[] {
  const { deliveries, duplicates, byStatus, firstAt, lastAt, networks, refusals, notRecorded } = use
  const total = refusals.reduce((sum, [, count]) => sum + count, 0)
  const codes = refusals.map(([code, count]) => `${count} ${code}`).join(', ')
  const statuses = byStatus.flatMap((count, status) => (count > 0 ? [`${count} ${STATUS_MEANINGS[status]}`] : []))
  const others = networks.length - MAX_NETWORKS
  const rows = networks.slice(0, MAX_NETWORKS).map(([network, count]) => [network ?? 'erased or unknown', `${count}`])
  return [
    fields(`Since ${times.text(since)}:`, {
      deliveries: deliveries === 0 ? 'none' : `${deliveries}: ${statuses.join(', ')}`,
      duplicates: duplicates > 0 ? `${duplicates} of them` : undefined,
      first: firstAt === null ? undefined : times.text(firstAt),
      last: lastAt === null ? undefined : times.text(lastAt),
      refusals: total === 0 ? 'none' : `${total}: ${codes}`,
      '': notRecorded > 0 ? `${notRecorded} more with keys of the customer were only counted` : undefined,
    }),
    ...(rows.length > 0 ? ['', table(['network', 'deliveries'], rows)] : []),
    ...(others > 0 ? [`and ${counted(others, 'other', 'others')}`] : []),
  ]
}
