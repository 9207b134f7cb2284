import { DEFAULT_REGION } from '#src/customer/credentials.ts'
import { type Changed, checkNewCustomer } from '#src/customer/customer.rule.ts'
import { changedRole, NO_ROLE } from '#src/customer/roles.ts'
import { displayName } from '#src/lib/display-name.ts'
import type { Silent } from '#src/store/store.ts'
import type { CliContext, Command, Input } from '../command.ts'
import { type PasswordInput, passwordOptions, readPassword, wantsPassword } from '../input/password.ts'
import { withAccounts } from '../with-accounts.ts'
import { customerJson, describeCustomer } from './show.ts'

export const customerAdd: Command = {
  name: 'customer add',
  about: 'Add a customer',
  details:
    'A customer that may log in (--api) needs a password. One that only delivers needs none and gets none, unless --password-stdin or --generate is given.',
  options: {
    email: { type: 'string', value: 'ADDRESS', required: true, about: 'E-mail address that the customer logs in with' },
    name: { type: 'string', value: 'TEXT', about: 'What people call it, shown before the e-mail address' },
    note: { type: 'string', value: 'TEXT', about: 'What operators should know about it; may have several lines' },
    api: { type: 'boolean', about: 'Allow logging in to the API (IsAPI)' },
    operator: { type: 'boolean', about: 'Make it an operator: it sees and changes everything' },
    'read-only': { type: 'boolean', about: 'With --operator: it may read, and change nothing' },
    support: {
      type: 'boolean',
      about: 'With --operator: it sees orders, deliveries and refusals of all customers, without payloads',
    },
    payloads: { type: 'boolean', about: 'With --support: it sees payloads, too' },
    feed: { type: 'boolean', about: 'Only let it follow the feed of all customers, for a back office' },
    region: {
      type: 'string',
      value: 'XX',
      multiple: true,
      about: `Region in which it may log in; ${DEFAULT_REGION} if not given`,
    },
    allow: { type: 'string', value: 'RULE', multiple: true, about: "Products it may deliver: a code, 'ABC-*' or '*'" },
    ...passwordOptions,
  },
  async run(input, context) {
    const secret =
      input.flag('api') || wantsPassword(input)
        ? await readPassword(input, context)
        : { password: undefined, generated: false }
    const regions = input.texts('region')
    const wanted = {
      email: input.text('email') ?? '',
      name: input.text('name'),
      note: input.text('note'),
      password: secret.password,
      isApi: input.flag('api'),
      ...changedRole(NO_ROLE, {
        operator: input.flag('operator'),
        readOnly: input.flag('read-only'),
        support: input.flag('support'),
        payloads: input.flag('payloads'),
        feed: input.flag('feed'),
      }),
      regions: regions.length > 0 ? regions : [DEFAULT_REGION],
      authority: input.texts('allow'),
    }
    // A wrong value must not leave a new store behind.
    await checkNewCustomer(wanted)
    const changed = await withAccounts(context, 'create', ({ customers }) => customers.add(wanted))
    const password = secret.generated ? `\n  password   ${secret.password}   (shown once)` : ''
    print(
      'customer add',
      input,
      context,
      changed,
      secret,
      describeCustomer(changed.customer, undefined, context) + password,
    )
  },
}

export const customerSetPassword: Command = {
  name: 'customer set-password',
  about: 'Set a new password; issued tokens stop working',
  positionals: ['CUSTOMER'],
  options: passwordOptions,
  async run(input, context) {
    const [who = ''] = input.positionals
    const secret = await readPassword(input, context)
    const { changed, silent } = await withAccounts(context, 'change', async ({ customers, silence }) => {
      const changed = await customers.setPassword(who, secret.password)
      return { changed, silent: (await silence.among([changed.customer.id])).get(changed.customer.id) }
    })
    const end = secret.generated ? `: ${secret.password}   (shown once)` : '.'
    print(
      'customer set-password',
      input,
      context,
      changed,
      secret,
      `${displayName(changed.customer)} has a new password${end}`,
      silent,
    )
  },
}

function print(
  name: string,
  { json }: Input,
  { out, err }: CliContext,
  { customer, warnings }: Changed,
  { password, generated }: Pick<PasswordInput, 'generated'> & { readonly password: string | undefined },
  text: string,
  silent?: Silent,
): void {
  for (const warning of warnings) err(`teslim ${name}: ${warning}`)
  out(json ? JSON.stringify({ ...customerJson(customer, silent), ...(generated && { password }) }) : text)
}
