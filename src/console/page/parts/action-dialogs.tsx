import type { Static } from '@sinclair/typebox'
import type {
  AddedCustomerSchema,
  ChangedCustomerSchema,
  CustomersSchema,
} from '#src/customer/operators/operators.schema.ts'
import { post } from '../lib/api.ts'
import { displayName, forgetNames } from '../lib/customers.tsx'
import { go } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { ActionForm, entriesOf, Field, HOLE, Secret, type Values, withForeign } from './action-form.tsx'
import { showDialog } from './dialog.tsx'
import { SeveralForm } from './several.tsx'

export type Customer = Static<typeof CustomersSchema>['Customers'][number]
type Changed = Static<typeof ChangedCustomerSchema>
type Added = Static<typeof AddedCustomerSchema>

interface OfCustomer {
  readonly customer: Customer
  readonly done: () => void
  readonly close: () => void
}

const pathOf = ({ CustomerID }: Customer, action: string) =>
  `/Operator/customer/${encodeURIComponent(CustomerID)}/${action}`

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
const ROLE_NAMES = Object.keys(ROLES) as (keyof typeof ROLES)[]

export const addCustomer = () => showDialog(AddCustomer)

function AddCustomer({ close }: Pick<OfCustomer, 'close'>) {
  const run = ({ Email = '', Name, Role, Regions, Rules }: Values) =>
    post<Added>('/Operator/customers', {
      Email: Email.trim(),
      Name,
      ...ROLES[ROLE_NAMES.find((name) => name === Role) ?? 'supplier'],
      Regions: entriesOf(Regions, /[\s,]+/),
      AuthorityRules: entriesOf(Rules),
    })
  const done = ({ Customer, Password }: Added) => {
    go('customer', [Customer.CustomerID])
    if (Password === null || !(Customer.IsAPI || Customer.IsOperator)) return
    const about = (email: string) => t('action.add.password', { email })
    showDialog(Secret, { title: t('action.add.passwordTitle'), about, email: displayName(Customer), secret: Password })
  }
  return (
    <ActionForm title={t('action.add.title')} verb={t('action.add.verb')} run={run} done={done} close={close}>
      {(problems) => (
        <>
          <p>{t('action.add.what')}</p>
          <Field name="Email" type="email" required autofocus label={t('word.email')} problems={problems} />
          <Field name="Name" maxlength={100} label={t('word.name')} hint={t('action.name.hint')} problems={problems} />
          <fieldset>
            <legend>{t('word.role')}</legend>
            {ROLE_NAMES.map((role, index) => (
              <label class="choice" key={role}>
                <input type="radio" name="Role" value={role} defaultChecked={index === 0} />
                <span>{t(`action.role.${role}`)}</span>
              </label>
            ))}
          </fieldset>
          <Field
            name="Regions"
            defaultValue="TR"
            label={t('word.regions')}
            hint={t('action.regions.hint')}
            problems={problems}
          />
          <Field
            name="Rules"
            as="textarea"
            rows={2}
            label={t('word.rules')}
            hint={t('action.rules.hint')}
            problems={problems}
          />
        </>
      )}
    </ActionForm>
  )
}

/** Actions that need nothing but a confirmation: whether they take something away. */
const SIMPLE = { enable: false, disable: true, revokeTokens: true } as const
type Simple = keyof typeof SIMPLE

export const changeCustomer = (action: Simple, customer: Customer, done: () => void): void =>
  showDialog(ChangeCustomer, { action, customer, done })

const ChangeCustomer = ({ action, customer, done, close }: OfCustomer & { readonly action: Simple }) => (
  <ActionForm
    title={t(`action.${action}.title`)}
    verb={t(`action.${action}.verb`)}
    danger={SIMPLE[action]}
    run={({ Reason }) => post<Changed>(pathOf(customer, action), Reason ? { Reason } : undefined)}
    done={done}
    close={close}
  >
    {(problems) => (
      <>
        <p>{withForeign(t(`action.${action}.what`, { email: HOLE }), displayName(customer))}</p>
        {action === 'disable' && (
          <Field
            name="Reason"
            maxlength={500}
            label={t('word.reason')}
            hint={t('action.reason.hint')}
            problems={problems}
          />
        )}
      </>
    )}
  </ActionForm>
)

export const setCustomer = (customer: Customer, done: () => void): void => showDialog(SetCustomer, { customer, done })

function SetCustomer({ customer, done, close }: OfCustomer) {
  const changed = () => {
    forgetNames()
    done()
  }
  return (
    <ActionForm
      title={t('action.set.title')}
      verb={t('action.set.title')}
      run={({ Name, Note }) => post<Changed>(pathOf(customer, 'set'), { Name, Note })}
      done={changed}
      close={close}
    >
      {(problems) => (
        <>
          <Field
            name="Name"
            autofocus
            maxlength={100}
            defaultValue={customer.Name}
            label={t('word.name')}
            hint={t('action.name.hint')}
            problems={problems}
          />
          <Field
            name="Note"
            as="textarea"
            rows={4}
            maxlength={1000}
            defaultValue={customer.Note}
            label={t('word.note')}
            hint={t('action.note.hint')}
            problems={problems}
          />
        </>
      )}
    </ActionForm>
  )
}

export const allowRules = (customer: Customer, done: () => void): void => showDialog(AllowRules, { customer, done })

const AllowRules = ({ customer, done, close }: OfCustomer) => (
  <ActionForm
    title={t('action.allow.title')}
    verb={t('action.allow.title')}
    run={({ Rules }) => post<Changed>(pathOf(customer, 'allow'), { Rules: entriesOf(Rules) })}
    done={done}
    close={close}
  >
    {(problems) => (
      <>
        <p>{withForeign(t('action.allow.what', { email: HOLE }), displayName(customer))}</p>
        <Field
          name="Rules"
          as="textarea"
          rows={3}
          required
          autofocus
          label={t('word.rules')}
          hint={t('action.rules.hint')}
          problems={problems}
        />
      </>
    )}
  </ActionForm>
)

export const disallowRule = (customer: Customer, rule: string, done: () => void): void =>
  showDialog(DisallowRule, { customer, rule, done })

const DisallowRule = ({ customer, rule, done, close }: OfCustomer & { readonly rule: string }) => (
  <ActionForm
    title={t('action.disallow.title')}
    verb={t('action.disallow.verb')}
    danger
    run={() => post<Changed>(pathOf(customer, 'disallow'), { Rules: [rule] })}
    done={done}
    close={close}
  >
    <p>{withForeign(t('action.disallow.what', { email: HOLE }), displayName(customer))}</p>
    <p>
      <code class="foreign">{rule}</code>
    </p>
  </ActionForm>
)

/** Disables customers one after the other: each is an action of its own. `changed` gets each as it is then. */
export const disableSeveral = (customers: readonly Customer[], changed: (customer: Customer) => void): void =>
  showDialog(DisableSeveral, { customers, changed })

interface DisableSeveralProperties {
  readonly customers: readonly Customer[]
  readonly changed: (customer: Customer) => void
  readonly close: () => void
}

const DisableSeveral = ({ customers, changed, close }: DisableSeveralProperties) => (
  <SeveralForm
    title={t('several.disable.title', { count: customers.length })}
    what={t('several.disable.what')}
    verb={t('action.disable.verb')}
    items={customers}
    nameOf={displayName}
    run={async (customer) => {
      const { Customer } = await post<Changed>(pathOf(customer, 'disable'))
      changed(Customer)
    }}
    close={close}
  />
)
