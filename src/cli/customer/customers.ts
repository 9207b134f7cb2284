import { type Customers, type CustomerView, isRemoved } from '#src/customer/customer.rule.ts'
import { isOperator, isReadOnly, rightsOf } from '#src/customer/rights.ts'
import { roleWords } from '#src/customer/roles.ts'
import { type Silence, silentText } from '#src/customer/silence/silence.rule.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import { displayName } from '#src/lib/display-name.ts'
import { durationText } from '#src/lib/duration.ts'
import { textOf } from '#src/lib/messages/message.ts'
import type { Silent } from '#src/store/store.ts'
import type { CliContext, Command, Input } from '../command.ts'
import { fields, table } from '../output/table.ts'
import { withAccounts } from '../with-accounts.ts'
import type { Access } from '../with-store.ts'

export const customerList: Command = {
  name: 'customer list',
  about: 'List customers, oldest first',
  options: {
    search: {
      value: 'TEXT',
      about:
        'Only those with this text in name, note or e-mail address, or at the beginning of the id; upper and lower case are the same for A to Z, other letters as they are',
    },
  },
  async run(input, context) {
    const { clock, columns } = context
    const search = input.text('search')
    const { all, silent } = await withAccounts(context, 'read', async ({ customers, silence }) => ({
      all: await customers.list(search),
      silent: new Map((await silence.all()).map((one) => [one.customerId, one])),
    }))
    return {
      json: all.map((one) => customerJson(one, silent.get(one.id))),
      text() {
        if (all.length === 0)
          return search === undefined
            ? 'There are no customers yet: see teslim customer add --help.'
            : 'No customer matches.'
        const rows = all.map((one) => {
          const { regions, id, authority } = one
          return [
            displayName(one),
            stateOf(one, silent.get(id), clock.now()),
            regions.join(' '),
            id,
            authority.join(' '),
          ]
        })
        return table(['customer', 'role', 'regions', 'id', 'delivers'], rows, columns)
      },
    }
  },
}

type Work = (customers: Customers, who: string, input: Input) => Promise<CustomerView>

/** A command that takes a customer, and perhaps more words, and prints the customer as it is afterwards. */
const customerCommand = (
  name: string,
  about: string,
  work: Work,
  { access = 'change', ...more }: Pick<Command, 'options'> & { words?: readonly string[]; access?: Access } = {},
): Command => ({
  name,
  about,
  positionals: ['CUSTOMER', ...(more.words ?? [])],
  options: more.options ?? {},
  run: (input, context) =>
    withAccounts(context, access, async ({ customers, silence }) =>
      shownCustomer(await work(customers, input.word, input), silence, context),
    ),
})

export const customerShow = customerCommand(
  'customer show',
  'Show one customer, by e-mail address or id',
  (customers, who) => customers.show(who),
  { access: 'read' },
)

export const customerEnable = customerCommand('customer enable', 'Enable a disabled customer', (customers, who) =>
  customers.enable(who),
)

export const customerDisable = customerCommand(
  'customer disable',
  'Disable a customer; its tokens and keys stop working within a second',
  (customers, who, input) => customers.disable(who, input.text('reason')),
  { options: { reason: { value: 'TEXT', about: 'Why; shown to operators only, until the customer is enabled' } } },
)

export const customerAllow = customerCommand(
  'customer allow',
  'Add authority rules: products the customer may deliver',
  (customers, who, { positionals }) => customers.allow(who, positionals.slice(1)),
  { words: ['RULE...'] },
)

export const customerDisallow = customerCommand(
  'customer disallow',
  'Remove authority rules (exact spelling)',
  (customers, who, { positionals }) => customers.disallow(who, positionals.slice(1)),
  { words: ['RULE...'] },
)

export const roleParts = <Value>(read: (option: string) => Value) => ({
  operator: read('operator'),
  readOnly: read('read-only'),
  support: read('support'),
  payloads: read('payloads'),
  feed: read('feed'),
})

/** A customer as a command prints it, with the silence that is known of it. */
export async function shownCustomer(customer: CustomerView, silence: Silence, { times, clock }: CliContext) {
  const silent = (await silence.among([customer.id])).get(customer.id)
  return {
    json: customerJson(customer, silent),
    text: () => {
      const { id, note, disabledReason, regions, authority, createdAt } = customer
      return fields(`${displayName(customer)}  ${stateOf(customer, silent, clock.now())}`, {
        id,
        regions: regions.join(' '),
        delivers: authority.join(' ') || 'nothing yet: see teslim customer allow',
        added: times.text(createdAt),
        silence: silenceText(customer),
        [silent?.everHeard ? 'last used' : 'first key']: silent && times.text(silent.since),
        disabled: disabledReason || undefined,
        note: note || undefined,
      })
    },
  }
}

const silenceText = ({ silence }: CustomerView): string | undefined =>
  silence === null ? undefined : silence === 0 ? 'off' : `after ${durationText(silence)}`

const customerJson = (customer: CustomerView, silent: Silent | undefined) => ({
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

/** What a customer may do, and whether it is disabled or silent, in words. */
function stateOf(customer: CustomerView, silent: Silent | undefined, now: number): string {
  const { isApi, scope, enabled, hasPassword } = customer
  const silence = silent === undefined ? [] : [textOf(silentText(silent, now))]
  if (isRemoved(customer)) return ['removed', ...silence].join(', ')
  const logsIn = isApi
    ? `API customer${hasPassword ? '' : ' without a password'}`
    : scope === 'customer'
      ? 'supplier only'
      : 'cannot log in'
  const duties = scope === 'customer' ? [] : [roleWords(customer)]
  return [...duties, logsIn, ...(enabled ? [] : ['disabled']), ...silence].join(', ')
}
