import { checkSettings } from '#src/customer/customer.rule.ts'
import { changedRole } from '#src/customer/roles.ts'
import { displayName } from '#src/lib/display-name.ts'
import { parseSilence, SILENCE_ALLOWED } from '#src/lib/duration.ts'
import { type Command, type Input, Misuse, type Option } from '../command.ts'
import { withAccounts } from '../with-accounts.ts'
import { roleParts, shownCustomer } from './customers.ts'

const yesOrNo = (about: string): Option => ({ value: 'YES|NO', choices: { yes: '', no: '' }, about })

export const customerSet: Command = {
  name: 'customer set',
  about: 'Change name, note, e-mail address, role, regions or silence of a customer',
  details:
    'What is not given stays. Tokens end if the customer loses a region or a right. CUSTOMER is an e-mail address or an id, never a name: "teslim customer list --search TEXT" finds both.',
  positionals: ['CUSTOMER'],
  options: {
    name: { value: 'TEXT', about: 'What people call it; empty for no name' },
    note: { value: 'TEXT', about: 'What operators should know about it; empty for no note' },
    email: { value: 'ADDRESS', about: 'The new e-mail address' },
    api: yesOrNo('Whether it may log in to the API (IsAPI)'),
    operator: yesOrNo('Whether it is an operator'),
    'read-only': yesOrNo('Whether an operator may only read'),
    support: yesOrNo('Whether an operator sees orders, deliveries and refusals only, without payloads'),
    payloads: yesOrNo('Whether support sees payloads, too'),
    feed: yesOrNo('Whether it only follows the feed'),
    region: { value: 'XX', multiple: true, about: 'Region in which it may log in; those not named are taken away' },
    silence: {
      value: 'TIME|off|default',
      about: 'How long its keys may be unused before it counts as silent; default is what TESLIM_SILENCE says',
    },
  },
  async run(input, context) {
    const who = input.word
    const regions = input.texts('region')
    const parts = roleParts((name) => readYesOrNo(input, name))
    const wanted = {
      name: input.text('name'),
      note: input.text('note'),
      email: input.text('email'),
      isApi: readYesOrNo(input, 'api'),
      regions: regions.length > 0 ? regions : undefined,
      silence: readSilence(input),
    }
    const changesRole = isGiven(parts)
    if (!changesRole && !isGiven(wanted))
      throw new Misuse('say what to change, for example --name, --email, --api or --operator')
    checkSettings(wanted)
    return withAccounts(context, 'change', async ({ customers, silence }) => {
      const role = changesRole && changedRole(await customers.showNotRemoved(who), parts)
      const customer = await customers.set(who, { ...wanted, ...role })
      if (customer.isApi && !customer.hasPassword)
        context.err(
          `teslim customer set: ${displayName(customer)} has no password yet and cannot log in: teslim customer set-password ${customer.id} --generate`,
        )
      return shownCustomer(customer, silence, context)
    })
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

const readYesOrNo = (input: Input, name: string): boolean | undefined =>
  input.text(name) === undefined ? undefined : input.text(name) === 'yes'
