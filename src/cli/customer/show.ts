import { type CustomerView, isRemoved } from '#src/customer/customer.rule.ts'
import { silentText } from '#src/customer/silence/silence.rule.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import { durationText } from '#src/lib/duration.ts'
import { textOf } from '#src/lib/messages/message.ts'
import type { Silent } from '#src/store/store.ts'
import type { CliContext, Command } from '../command.ts'
import { table } from '../output/table.ts'
import type { Times } from '../output/times.ts'
import { withAccounts } from '../with-accounts.ts'

export const customerList: Command = {
  name: 'customer list',
  about: 'List customers, oldest first',
  async run({ json }, context) {
    const { all, silent } = await withAccounts(context, 'read', async ({ customers, silence }) => ({
      all: await customers.list(),
      silent: new Map((await silence.all()).map((one) => [one.customerId, one])),
    }))
    if (json) context.out(JSON.stringify(all.map((one) => customerJson(one, silent.get(one.id)))))
    else if (all.length === 0) context.out('There are no customers yet: see teslim customer add --help.')
    else {
      const rows = all.map((one) => {
        const { email, regions, id, authority } = one
        const state = [describeRole(one), ...silenceOf(silent.get(id), context.clock.now())].join(', ')
        return [email, state, regions.join(' '), id, authority.join(' ')]
      })
      context.out(table(['e-mail', 'role', 'regions', 'id', 'delivers'], rows, context.columns))
    }
  },
}

/** A customer as JSON shows it. */
export const customerJson = (customer: CustomerView, silent: Silent | undefined) => ({
  id: customer.id,
  email: isRemoved(customer) ? null : customer.email,
  isApi: customer.isApi,
  operator: customer.operator,
  readOnly: customer.readOnly,
  enabled: customer.enabled,
  regions: customer.regions,
  authority: customer.authority,
  createdAt: isoMilliseconds(customer.createdAt),
  silenceSeconds: customer.silence === null ? null : customer.silence / 1000,
  silentSince: silent === undefined ? null : isoMilliseconds(silent.since),
})

/** A customer as people read it. */
export function describeCustomer(
  customer: CustomerView,
  silent: Silent | undefined,
  { times, clock }: Pick<CliContext, 'times' | 'clock'>,
): string {
  const { id, email, regions, authority, createdAt, silence } = customer
  return [
    `${email}  ${[describeRole(customer), ...silenceOf(silent, clock.now())].join(', ')}`,
    `  id         ${id}`,
    `  regions    ${regions.join(' ')}`,
    `  delivers   ${authority.join(' ') || 'nothing yet: see teslim customer allow'}`,
    `  added      ${times.text(createdAt)}`,
    ...(silence === null ? [] : [`  silence    ${silence === 0 ? 'off' : `after ${durationText(silence)}`}`]),
    ...(silent === undefined ? [] : [silentLine(silent, times)]),
  ].join('\n')
}

const silenceOf = (silent: Silent | undefined, now: number): string[] =>
  silent === undefined ? [] : [textOf(silentText(silent, now))]

const silentLine = ({ since, everHeard }: Silent, times: Times): string =>
  `  ${everHeard ? 'last used ' : 'first key '} ${times.text(since)}`

function describeRole({ id, email, isApi, operator, readOnly, enabled, hasPassword }: CustomerView): string {
  if (isRemoved({ id, email })) return 'removed'
  const duty = readOnly ? 'read-only operator' : 'operator'
  const role = [
    operator ? duty : '',
    isApi ? `API customer${hasPassword ? '' : ' without a password'}` : operator ? 'cannot log in' : 'supplier only',
  ]
    .filter(Boolean)
    .join(', ')
  return enabled ? role : `${role}, disabled`
}
