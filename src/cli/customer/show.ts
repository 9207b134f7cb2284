import { type CustomerView, isRemoved } from '#src/customer/customer.rule.ts'
import { isOperator, isReadOnly, rightsOf } from '#src/customer/rights.ts'
import { roleWords } from '#src/customer/roles.ts'
import { silentText } from '#src/customer/silence/silence.rule.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import { displayName } from '#src/lib/display-name.ts'
import { durationText } from '#src/lib/duration.ts'
import { textOf } from '#src/lib/messages/message.ts'
import { escaped } from '#src/lib/printable.ts'
import type { Silent } from '#src/store/store.ts'
import type { CliContext, Command } from '../command.ts'
import { table } from '../output/table.ts'
import type { Times } from '../output/times.ts'
import { withAccounts } from '../with-accounts.ts'

export const customerList: Command = {
  name: 'customer list',
  about: 'List customers, oldest first',
  options: {
    search: {
      type: 'string',
      value: 'TEXT',
      about:
        'Only those with this text in name, note or e-mail address, or at the beginning of the id; upper and lower case are the same for A to Z, other letters as they are',
    },
  },
  async run(input, context) {
    const search = input.text('search')
    const { all, silent } = await withAccounts(context, 'read', async ({ customers, silence }) => ({
      all: await customers.list(search),
      silent: new Map((await silence.all()).map((one) => [one.customerId, one])),
    }))
    if (input.json) context.out(JSON.stringify(all.map((one) => customerJson(one, silent.get(one.id)))))
    else if (all.length === 0 && search !== undefined) context.out('No customer matches.')
    else if (all.length === 0) context.out('There are no customers yet: see teslim customer add --help.')
    else {
      const rows = all.map((one) => {
        const { regions, id, authority } = one
        const state = [describeRole(one), ...silenceOf(silent.get(id), context.clock.now())].join(', ')
        return [displayName(one), state, regions.join(' '), id, authority.join(' ')]
      })
      context.out(table(['customer', 'role', 'regions', 'id', 'delivers'], rows, context.columns))
    }
  },
}

/** A customer as JSON shows it. */
export const customerJson = (customer: CustomerView, silent: Silent | undefined) => ({
  id: customer.id,
  email: isRemoved(customer) ? null : customer.email,
  name: customer.name,
  note: customer.note,
  isApi: customer.isApi,
  operator: isOperator(rightsOf(customer)),
  readOnly: isReadOnly(rightsOf(customer)),
  scope: customer.scope,
  payloads: rightsOf(customer).has('payloads'),
  enabled: customer.enabled,
  disabledReason: customer.disabledReason,
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
  const { id, note, disabledReason, regions, authority, createdAt, silence } = customer
  return [
    `${displayName(customer)}  ${[describeRole(customer), ...silenceOf(silent, clock.now())].join(', ')}`,
    `  id         ${id}`,
    `  regions    ${regions.join(' ')}`,
    `  delivers   ${authority.join(' ') || 'nothing yet: see teslim customer allow'}`,
    `  added      ${times.text(createdAt)}`,
    ...(silence === null ? [] : [`  silence    ${silence === 0 ? 'off' : `after ${durationText(silence)}`}`]),
    ...(silent === undefined ? [] : [silentLine(silent, times)]),
    ...(disabledReason === '' ? [] : [`  disabled   ${escaped(disabledReason)}`]),
    ...(note === '' ? [] : [`  note       ${escaped(note).replaceAll('\n', '\n             ')}`]),
  ].join('\n')
}

const silenceOf = (silent: Silent | undefined, now: number): string[] =>
  silent === undefined ? [] : [textOf(silentText(silent, now))]

const silentLine = ({ since, everHeard }: Silent, times: Times): string =>
  `  ${everHeard ? 'last used ' : 'first key '} ${times.text(since)}`

function describeRole(customer: CustomerView): string {
  const { isApi, scope, enabled, hasPassword } = customer
  if (isRemoved(customer)) return 'removed'
  const duties = scope === 'customer' ? [] : [roleWords(customer)]
  const logsIn = isApi
    ? `API customer${hasPassword ? '' : ' without a password'}`
    : scope === 'customer'
      ? 'supplier only'
      : 'cannot log in'
  const role = [...duties, logsIn].join(', ')
  return enabled ? role : `${role}, disabled`
}
