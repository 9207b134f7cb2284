import { toView } from '#src/customer/api-key.rule.ts'
import { OPERATOR } from '#src/customer/find-customer.ts'
import { displayName } from '#src/lib/display-name.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import { counted, printable } from '#src/lib/printable.ts'
import { createCursors } from '#src/purchase/cursors.ts'
import { createDeliverySearch, type OnScanned } from '#src/purchase/orders/delivery-search.ts'
import { type KeyUse, readKeyUse } from '#src/purchase/orders/key-use.rule.ts'
import { createFindKey } from '#src/purchase/origin-filter.ts'
import { STATUS_MEANINGS } from '#src/purchase/status.ts'
import type { Command } from '../command.ts'
import { findKeyAmong } from '../input/id-prefix.ts'
import { readMoment } from '../input/time.ts'
import { table } from '../output/table.ts'
import type { Times } from '../output/times.ts'
import { withAccounts } from '../with-accounts.ts'
import { describeState, iso, keyJson, limitsOf, timeOrNever } from './show.ts'

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
      type: 'string',
      value: 'TIME',
      about: `Count from this time on: 2026-11-21 (local unless --utc), 2026-11-21T14:30:00Z or 24h (ago); the last ${DEFAULT_DAYS} days if not given`,
    },
  },
  async run(input, context) {
    const now = context.clock.now()
    const since =
      readMoment('--since', input.text('since'), now, input.flag('utc')) ?? now - DEFAULT_DAYS * DAY_MILLISECONDS
    const { found, customer, use } = await withAccounts(context, 'read', async (_, store) => {
      const { apiKeys, audit, customers, secrets } = store
      const id = await findKeyAmong(input.positionals[0] ?? '', apiKeys)
      const found = await createFindKey(apiKeys)(OPERATOR, id)
      const cursors = createCursors(secrets, context.random)
      const search = createDeliverySearch({ ...store, cursors, productsOf: () => [] })
      const onScanned: OnScanned = (done, all) => context.progress(`${done} of ${all}`)
      const use = await readKeyUse(search, audit, found, since, onScanned)
      context.progress('')
      return { found, customer: await customers.findById(found.customerId), use }
    })
    const key = toView(found, now)
    const { email = '', enabled = true } = customer ?? {}
    if (input.json) {
      context.out(JSON.stringify({ ...keyJson(key), customer: email, since: iso(since), ...useJson(use) }))
      return
    }
    const { times } = context
    const { id, label, createdAt, expiresAt, lastUse, state } = key
    const lines = [
      ['customer', customer === undefined ? '' : displayName(customer)],
      ['state', state === 'live' && !enabled ? 'customer disabled' : describeState(key, now)],
      ['created', times.text(createdAt)],
      ['expires', timeOrNever(expiresAt, times)],
      ['last used', lastUse ? `${times.text(lastUse.usedAt)}, from ${lastUse.address}` : 'never'],
      ['limits', limitsOf(key).join('; ') || 'none'],
    ]
    const title = label === '' ? id : `${id} (${printable(label)})`
    context.out([title, ...inColumns(lines), '', `Since ${times.text(since)}:`, ...useLines(use, times)].join('\n'))
  },
}

const useJson = ({ networks, firstAt, lastAt, refusals, ...use }: KeyUse) => ({
  ...use,
  firstAt: iso(firstAt),
  lastAt: iso(lastAt),
  networks: networks.slice(0, MAX_NETWORKS).map(([network, deliveries]) => ({ network, deliveries })),
  otherNetworks: Math.max(0, networks.length - MAX_NETWORKS),
  refusals: Object.fromEntries(refusals),
})

function useLines(use: KeyUse, times: Times): string[] {
  const { deliveries, duplicates, byStatus, firstAt, lastAt, networks, refusals, notRecorded } = use
  const total = refusals.reduce((sum, [, count]) => sum + count, 0)
  const codes = refusals.map(([code, count]) => `${count} ${code}`).join(', ')
  const statuses = byStatus.flatMap((count, status) => (count > 0 ? [`${count} ${STATUS_MEANINGS[status]}`] : []))
  const others = networks.length - MAX_NETWORKS
  return [
    ...inColumns([
      ['deliveries', deliveries === 0 ? 'none' : `${deliveries}: ${statuses.join(', ')}`],
      ...(duplicates > 0 ? [['duplicates', `${duplicates} of them`]] : []),
      ...(firstAt !== null && lastAt !== null
        ? [
            ['first', times.text(firstAt)],
            ['last', times.text(lastAt)],
          ]
        : []),
      ['refusals', total === 0 ? 'none' : `${total}: ${codes}`],
      ...(notRecorded > 0 ? [['', `${notRecorded} more with keys of the customer were only counted`]] : []),
    ]),
    ...(networks.length > 0 ? ['', networkTable(networks.slice(0, MAX_NETWORKS))] : []),
    ...(others > 0 ? [`and ${counted(others, 'other', 'others')}`] : []),
  ]
}

const networkTable = (networks: KeyUse['networks']): string =>
  table(
    ['network', 'deliveries'],
    networks.map(([network, deliveries]) => [printable(network ?? 'erased or unknown'), String(deliveries)]),
  )

const inColumns = (lines: readonly (readonly string[])[]): string[] =>
  lines.map(([name = '', text = '']) => `  ${name.padEnd(12)}${printable(text)}`)
