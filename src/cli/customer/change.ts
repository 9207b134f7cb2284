import { type Customers, type CustomerView, checkSettings } from '#src/customer/customer.rule.ts'
import type { Silence } from '#src/customer/silence/silence.rule.ts'
import { parseSilence, SILENCE_ALLOWED } from '#src/lib/duration.ts'
import { type Command, type Input, Misuse } from '../command.ts'
import { withAccounts } from '../with-accounts.ts'
import type { Access } from '../with-store.ts'
import { customerJson, describeCustomer } from './show.ts'

type Work = (customers: Customers, who: string, rules: readonly string[]) => Promise<CustomerView>

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
  async run({ positionals: [who = '', ...rules], json }, context) {
    const { customer, silent } = await withAccounts(context, access, async ({ customers, silence }) =>
      withSilence(await work(customers, who, rules), silence),
    )
    context.out(json ? JSON.stringify(customerJson(customer, silent)) : describeCustomer(customer, silent, context))
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
  (customers, who) => customers.show(who),
  { access: 'read' },
)

export const customerEnable = customerCommand('customer enable', 'Enable a disabled customer', (customers, who) =>
  customers.enable(who),
)

export const customerDisable = customerCommand(
  'customer disable',
  'Disable a customer; its tokens and keys stop working immediately',
  (customers, who) => customers.disable(who),
)

export const customerAllow = customerCommand(
  'customer allow',
  'Add authority rules: products the customer may deliver',
  (customers, who, rules) => customers.allow(who, rules),
  RULES,
)

export const customerDisallow = customerCommand(
  'customer disallow',
  'Remove authority rules (exact spelling)',
  (customers, who, rules) => customers.disallow(who, rules),
  RULES,
)

const YES_OR_NO = { yes: '', no: '' }

export const customerSet: Command = {
  name: 'customer set',
  about: 'Change e-mail address, role, regions or silence of a customer',
  details: 'What is not given stays. Tokens end if the customer loses a region or a role.',
  positionals: ['CUSTOMER'],
  options: {
    email: { type: 'string', value: 'ADDRESS', about: 'The new e-mail address' },
    api: { type: 'string', value: 'YES|NO', choices: YES_OR_NO, about: 'Whether it may log in to the API (IsAPI)' },
    operator: {
      type: 'string',
      value: 'YES|NO',
      choices: YES_OR_NO,
      about: 'Whether it reads the deliveries of all customers',
    },
    'read-only': { type: 'string', value: 'YES|NO', choices: YES_OR_NO, about: 'Whether an operator may only read' },
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
    const wanted = {
      email: input.text('email'),
      isApi: yesOrNo(input, 'api'),
      operator: yesOrNo(input, 'operator'),
      readOnly: yesOrNo(input, 'read-only'),
      regions: regions.length > 0 ? regions : undefined,
      silence: readSilence(input),
    }
    if (Object.values(wanted).every((value) => value === undefined))
      throw new Misuse('say what to change: --email, --api, --operator, --read-only, --region or --silence')
    checkSettings(wanted)
    const { customer, silent } = await withAccounts(context, 'change', async ({ customers, silence }) =>
      withSilence(await customers.set(who, wanted), silence),
    )
    if (customer.isApi && !customer.hasPassword)
      context.err(
        `teslim customer set: ${customer.email} has no password yet and cannot log in: teslim customer set-password ${customer.id} --generate`,
      )
    context.out(
      input.json ? JSON.stringify(customerJson(customer, silent)) : describeCustomer(customer, silent, context),
    )
  },
}

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
    const { id, email } = await withAccounts(context, 'change', ({ customers }) =>
      customers.revokeTokens(input.text('customer') ?? ''),
    )
    if (input.json) context.out(JSON.stringify({ id, email }))
    else context.out(`The access tokens of ${email} are revoked.`)
  },
}
