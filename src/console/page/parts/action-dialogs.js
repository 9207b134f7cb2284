import { post } from '../lib/api.js'
import { displayName, rememberCustomers } from '../lib/customers.js'
import { foreign } from '../lib/foreign.js'
import { html } from '../lib/html.js'
import { go } from '../lib/route.js'
import { t } from '../lib/texts.js'
import { ActionForm, deliveryCommand, entriesOf, Field, HOLE, numberOf, Secret, withForeign } from './action-form.js'
import { showDialog } from './dialog.js'

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
  return html`
    <${ActionForm} title=${t('action.add.title')} verb=${t('action.add.verb')} run=${run} done=${done} close=${close}>
      ${(problems) => html`
        <p>${t('action.add.what')}</p>
        <${Field} name="Email" type="email" required autofocus label=${t('action.email')} problems=${problems} />
        <${Field} name="Name" maxlength="100" label=${t('action.name')} hint=${t('action.name.hint')} problems=${problems} />
        <fieldset>
          <legend>${t('action.role')}</legend>
          ${Object.keys(ROLES).map(
            (role, index) => html`
              <label class="choice">
                <input type="radio" name="Role" value=${role} defaultChecked=${index === 0} />
                <span>${t(`action.role.${role}`)}</span>
              </label>
            `,
          )}
        </fieldset>
        <${Field} name="Regions" defaultValue="TR" label=${t('action.regions')} hint=${t('action.regions.hint')} problems=${problems} />
        <${Field} name="Rules" as="textarea" rows="2" label=${t('action.rules')} hint=${t('action.rules.hint')} problems=${problems} />
      `}
    <//>
  `
}

const Role = ({ IsAPI, IsOperator }) => (IsAPI || IsOperator ? 'login' : 'supplier')

/** Actions that need nothing but a confirmation: their path, and whether they take something away. */
const SIMPLE = { enable: false, disable: true, revokeTokens: true }

/** `action` is `enable`, `disable` or `revokeTokens`. */
export const changeCustomer = (action, customer, done) => showDialog(ChangeCustomer, { action, customer, done })

const ChangeCustomer = ({ action, customer, done, close }) => html`
  <${ActionForm}
    title=${t(`action.${action}.title`)}
    verb=${t(`action.${action}.verb`)}
    danger=${SIMPLE[action]}
    run=${({ Reason }) => post(pathOf(customer, action), Reason ? { Reason } : undefined)}
    done=${done}
    close=${close}
  >
    ${(problems) => html`
      <p>${withForeign(t(`action.${action}.what`, { email: HOLE }), displayName(customer))}</p>
      ${action === 'disable' && html`<${Field} name="Reason" maxlength="500" label=${t('action.reason')} hint=${t('action.reason.hint')} problems=${problems} />`}
    `}
  <//>
`

export const setCustomer = (customer, done) => showDialog(SetCustomer, { customer, done })

function SetCustomer({ customer, done, close }) {
  const changed = ({ Customer }) => {
    rememberCustomers([Customer])
    done()
  }
  return html`
    <${ActionForm}
      title=${t('action.set.title')}
      verb=${t('action.set.verb')}
      run=${({ Name, Note }) => post(pathOf(customer, 'set'), { Name, Note })}
      done=${changed}
      close=${close}
    >
      ${(problems) => html`
        <${Field} name="Name" autofocus maxlength="100" defaultValue=${customer.Name} label=${t('action.name')} hint=${t('action.name.hint')} problems=${problems} />
        <${Field} name="Note" as="textarea" rows="4" maxlength="1000" defaultValue=${customer.Note} label=${t('action.note')} hint=${t('action.note.hint')} problems=${problems} />
      `}
    <//>
  `
}

export const allowRules = (customer, done) => showDialog(AllowRules, { customer, done })

const AllowRules = ({ customer, done, close }) => html`
  <${ActionForm}
    title=${t('action.allow.title')}
    verb=${t('action.allow.verb')}
    run=${({ Rules }) => post(pathOf(customer, 'allow'), { Rules: entriesOf(Rules) })}
    done=${done}
    close=${close}
  >
    ${(problems) => html`
      <p>${withForeign(t('action.allow.what', { email: HOLE }), displayName(customer))}</p>
      <${Field} name="Rules" as="textarea" rows="3" required autofocus label=${t('action.rules')} hint=${t('action.rules.hint')} problems=${problems} />
    `}
  <//>
`

export const disallowRule = (customer, rule, done) => showDialog(DisallowRule, { customer, rule, done })

const DisallowRule = ({ customer, rule, done, close }) => html`
  <${ActionForm}
    title=${t('action.disallow.title')}
    verb=${t('action.disallow.verb')}
    danger
    run=${() => post(pathOf(customer, 'disallow'), { Rules: [rule] })}
    done=${done}
    close=${close}
  >
    <p>${withForeign(t('action.disallow.what', { email: HOLE }), displayName(customer))}</p>
    <p><code class="foreign">${rule}</code></p>
  <//>
`

const DAY_MILLISECONDS = 86_400_000

/** The end of a number of days from now; undefined if the field is empty. */
const endOf = (days) => {
  const number = numberOf(days)
  return number && new Date(Date.now() + number * DAY_MILLISECONDS).toISOString()
}

const keyPath = ({ KeyID }, action) => `/Operator/key/${encodeURIComponent(KeyID)}/${action}`

/** Shows a new key, which no answer contains again. */
function showKey({ ApiKey }, customer, done) {
  done()
  showDialog(Secret, {
    title: t('secret.title'),
    about: (email) => t('secret.about', { email }),
    email: displayName(customer),
    secret: ApiKey,
    sample: (key) => deliveryCommand(key, customer.AuthorityRules),
  })
}

export const issueKey = (customer, done) => showDialog(IssueKey, { customer, done })

function IssueKey({ customer, done, close }) {
  const run = ({ Label, Days, Networks, RateLimit }) => {
    const networks = entriesOf(Networks, /[\s,]+/)
    return post(`/Operator/customer/${encodeURIComponent(customer.CustomerID)}/keys`, {
      Label: Label.trim(),
      ExpiresAt: endOf(Days),
      ...(networks.length > 0 && { Networks: networks }),
      RateLimit: numberOf(RateLimit),
    })
  }
  return html`
    <${ActionForm} title=${t('action.issue.title')} verb=${t('action.issue.verb')} run=${run} done=${(made) => showKey(made, customer, done)} close=${close}>
      ${(problems) => html`
        <p>${withForeign(t('action.issue.what', { email: HOLE }), displayName(customer))}</p>
        <${Field} name="Label" autofocus maxlength="100" label=${t('key.label')} hint=${t('key.label.hint')} problems=${problems} />
        <${Field} name="Days" type="number" min="1" max="3650" label=${t('key.days')} hint=${t('key.days.never')} problems=${problems} />
        <${Field} name="Networks" as="textarea" rows="2" label=${t('key.networks')} hint=${t('key.networks.hint')} problems=${problems} />
        <${Field} name="RateLimit" type="number" min="0" label=${t('key.rate')} hint=${t('key.rate.hint')} problems=${problems} />
      `}
    <//>
  `
}

export const rotateKey = (customer, key, done) => showDialog(RotateKey, { customer, apiKey: key, done })

function RotateKey({ customer, apiKey, done, close }) {
  const run = ({ OverlapHours, Days }) =>
    post(keyPath(apiKey, 'rotate'), { OverlapHours: numberOf(OverlapHours), ExpiresAt: endOf(Days) })
  return html`
    <${ActionForm} title=${t('action.rotate.title')} verb=${t('action.rotate.verb')} run=${run} done=${(made) => showKey(made, customer, done)} close=${close}>
      ${(problems) => html`
        <p>${withForeign(t('action.rotate.what', { email: HOLE }), displayName(customer))}</p>
        <${KeyName} apiKey=${apiKey} />
        <${Field} name="OverlapHours" type="number" min="0" max="8760" required autofocus defaultValue="24" label=${t('key.overlap')} hint=${t('key.overlap.hint')} problems=${problems} />
        <${Field} name="Days" type="number" min="1" max="3650" label=${t('key.days')} hint=${t('key.days.same')} problems=${problems} />
      `}
    <//>
  `
}

export const revokeKey = (customer, key, done) => showDialog(RevokeKey, { customer, apiKey: key, done })

const RevokeKey = ({ customer, apiKey, done, close }) => html`
  <${ActionForm}
    title=${t('action.revoke.title')}
    verb=${t('action.revoke.verb')}
    danger
    run=${() => post(keyPath(apiKey, 'revoke'))}
    done=${done}
    close=${close}
  >
    <p>${withForeign(t('action.revoke.what', { email: HOLE }), displayName(customer))}</p>
    <${KeyName} apiKey=${apiKey} />
  <//>
`

const KeyName = ({ apiKey }) => html`
  <p><b>${apiKey.Label ? foreign(apiKey.Label) : t('key.noLabel')}</b> <code>${apiKey.KeyID}</code></p>
`
