import type { Static } from '@sinclair/typebox'
import type { AddedCustomerSchema, ChangedCustomerSchema } from '#src/customer/operators/operators.schema.ts'
import { post } from '../lib/api.ts'
import { type Customer, displayName, forgetNames } from '../lib/customers.tsx'
import { Sentence } from '../lib/foreign.tsx'
import { go } from '../lib/route.ts'
import { entriesOf, Field, Radios, showAction, type Values } from './action-form.tsx'
import { showSecret } from './secret.tsx'
import { showSeveral } from './several.tsx'

type Added = Static<typeof AddedCustomerSchema>

const change = ({ CustomerID }: Customer, action: string, body?: object) =>
  post<Static<typeof ChangedCustomerSchema>>(`/Operator/customer/${encodeURIComponent(CustomerID)}/${action}`, body)

/** What a customer is for. */
const ROLES = {
  supplier: { IsAPI: false },
  api: { IsAPI: true },
  feed: { IsAPI: true, Scope: 'feed' },
  support: { IsAPI: true, Scope: 'operator:support' },
  supportWithPayloads: { IsAPI: true, Scope: 'operator:support', SeesPayloads: true },
  readOnly: { IsAPI: true, Scope: 'operator:read' },
  operator: { IsAPI: true, Scope: 'operator' },
} as const
type Role = keyof typeof ROLES
const ROLE_CHOICES = (Object.keys(ROLES) as Role[]).map((role) => [role, `action.role.${role}`] as const)

const rules = { name: 'Rules', as: 'textarea', label: 'word.rules', hint: 'action.rules.hint' } as const
const name = { name: 'Name', maxlength: 100, label: 'word.name', hint: 'action.name.hint' } as const

export const addCustomer = (): void =>
  showAction({
    title: 'action.add.title',
    verb: 'action.add.verb',
    run: ({ Email = '', Name, Role, Regions, Rules }: Values) =>
      post<Added>('/Operator/customers', {
        Email: Email.trim(),
        Name,
        ...ROLES[ROLE_CHOICES.find(([role]) => role === Role)?.[0] ?? 'supplier'],
        Regions: entriesOf(Regions, /[\s,]+/),
        AuthorityRules: entriesOf(Rules),
      }),
    done: ({ Customer, Password: secret }) => {
      go('customer', [Customer.CustomerID])
      if (secret === null || !(Customer.IsAPI || Customer.IsOperator)) return
      showSecret({
        title: 'action.add.passwordTitle',
        about: 'action.add.password',
        name: displayName(Customer),
        secret,
      })
    },
    children: (
      <>
        <Sentence text="action.add.what" />
        <Field name="Email" type="email" required autofocus label="word.email" />
        <Field {...name} />
        <Radios name="Role" legend="word.role" choices={ROLE_CHOICES} />
        <Field name="Regions" defaultValue="TR" label="word.regions" hint="action.regions.hint" />
        <Field {...rules} rows={2} />
      </>
    ),
  })

/** Needs nothing but a confirmation. */
export const changeCustomer = (
  action: 'enable' | 'disable' | 'revokeTokens',
  customer: Customer,
  done: () => void,
): void =>
  showAction({
    title: `action.${action}.title`,
    verb: `action.${action}.verb`,
    danger: action !== 'enable',
    run: ({ Reason }) => change(customer, action, Reason ? { Reason } : undefined),
    done,
    children: (
      <>
        <Sentence text={`action.${action}.what`} name={displayName(customer)} />
        {action === 'disable' && <Field name="Reason" maxlength={500} label="word.reason" hint="action.reason.hint" />}
      </>
    ),
  })

export const setCustomer = (customer: Customer, done: () => void): void =>
  showAction({
    title: 'action.set.title',
    verb: 'action.set.title',
    run: ({ Name, Note }) => change(customer, 'set', { Name, Note }),
    done() {
      forgetNames()
      done()
    },
    children: (
      <>
        <Field {...name} autofocus defaultValue={customer.Name} />
        <Field
          name="Note"
          as="textarea"
          rows={4}
          maxlength={1000}
          defaultValue={customer.Note}
          label="word.note"
          hint="action.note.hint"
        />
      </>
    ),
  })

export const allowRules = (customer: Customer, done: () => void): void =>
  showAction({
    title: 'action.allow.title',
    verb: 'action.allow.title',
    run: ({ Rules }) => change(customer, 'allow', { Rules: entriesOf(Rules) }),
    done,
    children: (
      <>
        <Sentence text="action.allow.what" name={displayName(customer)} />
        <Field {...rules} rows={3} required autofocus />
      </>
    ),
  })

export const disallowRule = (customer: Customer, rule: string, done: () => void): void =>
  showAction({
    title: 'action.disallow.title',
    verb: 'action.disallow.verb',
    danger: true,
    run: () => change(customer, 'disallow', { Rules: [rule] }),
    done,
    children: (
      <>
        <Sentence text="action.disallow.what" name={displayName(customer)} />
        <p>
          <code class="foreign">{rule}</code>
        </p>
      </>
    ),
  })

/** Disables customers one after the other: each is an action of its own. `changed` gets each as it is then. */
export const disableSeveral = (customers: readonly Customer[], changed: (customer: Customer) => void): void =>
  showSeveral({
    title: 'several.disable.title',
    verb: 'action.disable.verb',
    items: customers,
    nameOf: displayName,
    run: async (customer) => changed((await change(customer, 'disable')).Customer),
    children: <Sentence text="several.disable.what" />,
  })
