import { type Customers, type CustomerView, checkSettings } from '#src/customer/customer.rule.ts'
import { changedRole } from '#src/customer/roles.ts'
import type { Silence } from '#src/customer/silence/silence.rule.ts'
import { displayName } from '#src/lib/display-name.ts'
import { parseSilence, SILENCE_ALLOWED } from '#src/lib/duration.ts'
import { type Command, type Input, Misuse } from '../command.ts'
import { withAccounts } from '../with-accounts.ts'
import type { Access } from '../with-store.ts'
import { customerJson, describeCustomer } from './show.ts'

type Work = (customers: Customers, input: Input) => Promise<CustomerView>

/** A command that takes a customer, and perhaps rules, and prints the customer as it is afterwards. */
const customerCommand = (
  name: string,
  about: string,
  work: Work,
  { more = [], access = 'change' }: { more?: readonly string[]; access?: Access } = {},
): Command => ({
  name,
  about,
  positionals: ['CUSTOMER', ...more],
  async run(input, context) {
    const { customer, silent } = await withAccounts(context, access, async ({ customers, silence }) =>
      withSilence(await work(customers, input), silence),
    )
    context.out(
      input.json ? JSON.stringify(customerJson(customer, silent)) : describeCustomer(customer, silent, context),
    )
  },
})

const withSilence = async (customer: CustomerView, silence: Silence) => ({
  customer,
  silent: (await silence.among([customer.id])).get(customer.id),
})

const RULES = { more: ['RULE...'] }

export const customerShow = customerCommand(
  'customer show',
  'Show one customer, by e-mail address or id',
  (customers, { positionals: [who = ''] }) => customers.show(who),
  { access: 'read' },
)

export const customerEnable = customerCommand(
  'customer enable',
  'Enable a disabled customer',
  (customers, { positionals: [who = ''] }) => customers.enable(who),
)

export const customerDisable: Command = {
  ...customerCommand(
    'customer disable',
    'Disable a customer; its tokens and keys stop working immediately',
    (customers, { positionals: [who = ''], text }) => customers.disable(who, text('reason')),
  ),
  options: {
    reason: { type: 'string', value: 'TEXT', about: 'Why; shown to operators only, until the customer is enabled' },
  },
}

export const customerAllow = customerCommand(
  'customer allow',
  'Add authority rules: products the customer may deliver',
  (customers, { positionals: [who = '', ...rules] }) => customers.allow(who, rules),
  RULES,
)

export const customerDisallow = customerCommand(
  'customer disallow',
  'Remove authority rules (exact spelling)',
  (customers, { positionals: [who = '', ...rules] }) => customers.disallow(who, rules),
  RULES,
)

const YES_OR_NO = { yes: '', no: '' }

export const customerSet: Command = {
  name: 'customer set',
  about: 'Change name, note, e-mail address, role, regions or silence of a customer',
  details:
    'What is not given stays. Tokens end if the customer loses a region or a right. CUSTOMER is an e-mail address or an id, never a name: "teslim customer list --search TEXT" finds both.',
  positionals: ['CUSTOMER'],
  options: {
    name: { type: 'string', value: 'TEXT', about: 'What people call it; empty for no name' },
    note: { type: 'string', value: 'TEXT', about: 'What operators should know about it; empty for no note' },
    email: { type: 'string', value: 'ADDRESS', about: 'The new e-mail address' },
    api: { type: 'string', value: 'YES|NO', choices: YES_OR_NO, about: 'Whether it may log in to the API (IsAPI)' },
    operator: {
      type: 'string',
      value: 'YES|NO',
      choices: YES_OR_NO,
      about: 'Whether it is an operator',
    },
    'read-only': { type: 'string', value: 'YES|NO', choices: YES_OR_NO, about: 'Whether an operator may only read' },
    support: {
      type: 'string',
      value: 'YES|NO',
      choices: YES_OR_NO,
      about: 'Whether an operator sees orders, deliveries and refusals only, without payloads',
    },
    payloads: { type: 'string', value: 'YES|NO', choices: YES_OR_NO, about: 'Whether support sees payloads, too' },
    feed: { type: 'string', value: 'YES|NO', choices: YES_OR_NO, about: 'Whether it only follows the feed' },
    region: {
      type: 'string',
      value: 'XX',
      multiple: true,
      about: 'Region in which it may log in; those not named are taken away',
    },
    silence: {
      type: 'string',
      value: 'TIME|off|default',
      about: 'How long its keys may be unused before it counts as silent; default is what TESLIM_SILENCE says',
    },
  },
  async run(input, context) {
    const [who = ''] = input.positionals
    const regions = input.texts('region')
    const parts = {
      operator: yesOrNo(input, 'operator'),
      readOnly: yesOrNo(input, 'read-only'),
      support: yesOrNo(input, 'support'),
      payloads: yesOrNo(input, 'payloads'),
      feed: yesOrNo(input, 'feed'),
    }
    const wanted = {
      name: input.text('name'),
      note: input.text('note'),
      email: input.text('email'),
      isApi: yesOrNo(input, 'api'),
      regions: regions.length > 0 ? regions : undefined,
      silence: readSilence(input),
    }
    const changesRole = isGiven(parts)
    if (!changesRole && !isGiven(wanted))
      throw new Misuse('say what to change, for example --name, --email, --api or --operator')
    checkSettings(wanted)
    const { customer, silent } = await withAccounts(context, 'change', async ({ customers, silence }) => {
      const role = changesRole && changedRole(await customers.showNotRemoved(who), parts)
      return withSilence(await customers.set(who, { ...wanted, ...role }), silence)
    })
    if (customer.isApi && !customer.hasPassword)
      context.err(
        `teslim customer set: ${displayName(customer)} has no password yet and cannot log in: teslim customer set-password ${customer.id} --generate`,
      )
    context.out(
      input.json ? JSON.stringify(customerJson(customer, silent)) : describeCustomer(customer, silent, context),
    )
  },
}

const isGiven = (values: object): boolean => Object.values(values).some((value) => value !== undefined)

/** Milliseconds, 0 for off; null for that of the server. */
function readSilence(input: Input): number | null | undefined {
  const text = input.text('silence')
  if (text === undefined) return undefined
  if (text === 'default') return null
  const silence = parseSilence(text)
  if (silence === undefined) throw new Misuse(`--silence takes ${SILENCE_ALLOWED}, or default, not "${text}"`)
  return silence
}

const yesOrNo = (input: Input, name: string): boolean | undefined =>
  input.text(name) === undefined ? undefined : input.text(name) === 'yes'

export const tokenRevoke: Command = {
  name: 'token revoke',
  about: 'Revoke all access tokens of a customer; it may log in again',
  options: {
    customer: { type: 'string', value: 'CUSTOMER', required: true, about: 'The customer: e-mail address or id' },
  },
  async run(input, context) {
    const customer = await withAccounts(context, 'change', ({ customers }) =>
      customers.revokeTokens(input.text('customer') ?? ''),
    )
    if (input.json) context.out(JSON.stringify({ id: customer.id, email: customer.email }))
    else context.out(`The access tokens of ${displayName(customer)} are revoked.`)
  },
}
