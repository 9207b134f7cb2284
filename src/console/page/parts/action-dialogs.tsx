import { post } from '../lib/api.ts'
import { displayName, rememberCustomers } from '../lib/customers.tsx'
import { go } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { ActionForm, entriesOf, Field, HOLE, Secret, withForeign } from './action-form.tsx'
import { showDialog } from './dialog.tsx'

const pathOf = ({ CustomerID }, action) => `/Operator/customer/${encodeURIComponent(CustomerID)}/${action}`

/** What a customer is for. */
const ROLES = {
  supplier: { IsAPI: false },
  api: { IsAPI: true },
  feed: { IsAPI: true, Scope: 'feed' },
  support: { IsAPI: true, Scope: 'operator:support' },
  supportWithPayloads: { IsAPI: true, Scope: 'operator:support', SeesPayloads: true },
  readOnly: { IsAPI: true, Scope: 'operator:read' },
  operator: { IsAPI: true, Scope: 'operator' },
}

export const addCustomer = () => showDialog(AddCustomer)

function AddCustomer({ close }) {
  const run = ({ Email, Name, Role, Regions, Rules }) =>
    post('/Operator/customers', {
      Email: Email.trim(),
      Name,
      ...ROLES[Role],
      Regions: entriesOf(Regions, /[\s,]+/),
      AuthorityRules: entriesOf(Rules),
    })
  const done = ({ Customer, Password }) => {
    go('customer', [Customer.CustomerID])
    if (Password === null || Role(Customer) === 'supplier') return
    const about = (email) => t('action.add.password', { email })
    showDialog(Secret, { title: t('action.add.passwordTitle'), about, email: displayName(Customer), secret: Password })
  }
  return (
    <ActionForm title={t('action.add.title')} verb={t('action.add.verb')} run={run} done={done} close={close}>
      {(problems) => (
        <>
          <p>{t('action.add.what')}</p>
          <Field name="Email" type="email" required autofocus label={t('word.email')} problems={problems} />
          <Field name="Name" maxlength="100" label={t('word.name')} hint={t('action.name.hint')} problems={problems} />
          <fieldset>
            <legend>{t('word.role')}</legend>
            {Object.keys(ROLES).map((role, index) => (
              <label class="choice">
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
            rows="2"
            label={t('word.rules')}
            hint={t('action.rules.hint')}
            problems={problems}
          />
        </>
      )}
    </ActionForm>
  )
}

const Role = ({ IsAPI, IsOperator }) => (IsAPI || IsOperator ? 'login' : 'supplier')

/** Actions that need nothing but a confirmation: their path, and whether they take something away. */
const SIMPLE = { enable: false, disable: true, revokeTokens: true }

/** `action` is `enable`, `disable` or `revokeTokens`. */
export const changeCustomer = (action, customer, done) => showDialog(ChangeCustomer, { action, customer, done })

const ChangeCustomer = ({ action, customer, done, close }) => (
  <ActionForm
    title={t(`action.${action}.title`)}
    verb={t(`action.${action}.verb`)}
    danger={SIMPLE[action]}
    run={({ Reason }) => post(pathOf(customer, action), Reason ? { Reason } : undefined)}
    done={done}
    close={close}
  >
    {(problems) => (
      <>
        <p>{withForeign(t(`action.${action}.what`, { email: HOLE }), displayName(customer))}</p>
        {action === 'disable' && (
          <Field
            name="Reason"
            maxlength="500"
            label={t('word.reason')}
            hint={t('action.reason.hint')}
            problems={problems}
          />
        )}
      </>
    )}
  </ActionForm>
)

export const setCustomer = (customer, done) => showDialog(SetCustomer, { customer, done })

function SetCustomer({ customer, done, close }) {
  const changed = ({ Customer }) => {
    rememberCustomers([Customer])
    done()
  }
  return (
    <ActionForm
      title={t('action.set.title')}
      verb={t('action.set.title')}
      run={({ Name, Note }) => post(pathOf(customer, 'set'), { Name, Note })}
      done={changed}
      close={close}
    >
      {(problems) => (
        <>
          <Field
            name="Name"
            autofocus
            maxlength="100"
            defaultValue={customer.Name}
            label={t('word.name')}
            hint={t('action.name.hint')}
            problems={problems}
          />
          <Field
            name="Note"
            as="textarea"
            rows="4"
            maxlength="1000"
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

export const allowRules = (customer, done) => showDialog(AllowRules, { customer, done })

const AllowRules = ({ customer, done, close }) => (
  <ActionForm
    title={t('action.allow.title')}
    verb={t('action.allow.title')}
    run={({ Rules }) => post(pathOf(customer, 'allow'), { Rules: entriesOf(Rules) })}
    done={done}
    close={close}
  >
    {(problems) => (
      <>
        <p>{withForeign(t('action.allow.what', { email: HOLE }), displayName(customer))}</p>
        <Field
          name="Rules"
          as="textarea"
          rows="3"
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

export const disallowRule = (customer, rule, done) => showDialog(DisallowRule, { customer, rule, done })

const DisallowRule = ({ customer, rule, done, close }) => (
  <ActionForm
    title={t('action.disallow.title')}
    verb={t('action.disallow.verb')}
    danger
    run={() => post(pathOf(customer, 'disallow'), { Rules: [rule] })}
    done={done}
    close={close}
  >
    <p>{withForeign(t('action.disallow.what', { email: HOLE }), displayName(customer))}</p>
    <p>
      <code class="foreign">{rule}</code>
    </p>
  </ActionForm>
)
