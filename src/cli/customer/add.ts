import { DEFAULT_REGION } from '#src/customer/credentials.ts'
import { checkNewCustomer } from '#src/customer/customer.rule.ts'
import { changedRole, NO_ROLE } from '#src/customer/roles.ts'
import { displayName } from '#src/lib/display-name.ts'
import type { Command } from '../command.ts'
import { passwordOptions, readPassword, wantsPassword } from '../input/password.ts'
import { withAccounts } from '../with-accounts.ts'
import { roleParts, shownCustomer } from './customers.ts'

export const customerAdd: Command = {
  name: 'customer add',
  about: 'Add a customer',
  details:
    'A customer that may log in (--api) needs a password. One that only delivers needs none and gets none, unless --password-stdin or --generate is given.',
  options: {
    email: { value: 'ADDRESS', required: true, about: 'E-mail address that the customer logs in with' },
    name: { value: 'TEXT', about: 'What people call it, shown before the e-mail address' },
    note: { value: 'TEXT', about: 'What operators should know about it; may have several lines' },
    api: { about: 'Allow logging in to the API (IsAPI)' },
    operator: { about: 'Make it an operator: it sees and changes everything' },
    'read-only': { about: 'With --operator: it may read, and change nothing' },
    support: { about: 'With --operator: it sees orders, deliveries and refusals of all customers, without payloads' },
    payloads: { about: 'With --support: it sees payloads, too' },
    feed: { about: 'Only let it follow the feed of all customers, for a back office' },
    region: { value: 'XX', multiple: true, about: `Region in which it may log in; ${DEFAULT_REGION} if not given` },
    allow: { value: 'RULE', multiple: true, about: "Products it may deliver: a code, 'ABC-*' or '*'" },
    ...passwordOptions,
  },
  async run(input, context) {
    const secret = input.flag('api') || wantsPassword(input) ? await readPassword(input, context) : undefined
    const regions = input.texts('region')
    const wanted = {
      email: input.text('email') ?? '',
      name: input.text('name'),
      note: input.text('note'),
      password: secret?.password,
      isApi: input.flag('api'),
      ...changedRole(NO_ROLE, roleParts(input.flag)),
      regions: regions.length > 0 ? regions : [DEFAULT_REGION],
      authority: input.texts('allow'),
    }
    // A wrong value must not leave a new store behind.
    await checkNewCustomer(wanted)
    return withAccounts(context, 'create', async ({ customers, silence }) => {
      const { customer, warnings } = await customers.add(wanted)
      for (const warning of warnings) context.err(`teslim customer add: ${warning}`)
      const { json, text } = await shownCustomer(customer, silence, context)
      if (!secret?.generated) return { json, text }
      const { password } = secret
      return {
        json: { ...json, password },
        text: () => `${text()}\n  password    ${password}   (shown once)`,
      }
    })
  },
}

export const customerSetPassword: Command = {
  name: 'customer set-password',
  about: 'Set a new password; issued tokens stop working',
  positionals: ['CUSTOMER'],
  options: passwordOptions,
  async run(input, context) {
    const { password, generated } = await readPassword(input, context)
    return withAccounts(context, 'change', async ({ customers, silence }) => {
      const { customer, warnings } = await customers.setPassword(input.word, password)
      for (const warning of warnings) context.err(`teslim customer set-password: ${warning}`)
      const { json } = await shownCustomer(customer, silence, context)
      return {
        json: { ...json, ...(generated && { password }) },
        text: () => `${displayName(customer)} has a new password${generated ? `: ${password}   (shown once)` : '.'}`,
      }
    })
  },
}
