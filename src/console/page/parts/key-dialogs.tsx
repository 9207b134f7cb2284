import { post } from '../lib/api.ts'
import { displayName } from '../lib/customers.tsx'
import { foreign } from '../lib/foreign.tsx'
import { t } from '../lib/texts.ts'
import { ActionForm, deliveryCommand, entriesOf, Field, HOLE, numberOf, Secret, withForeign } from './action-form.tsx'
import { showDialog } from './dialog.tsx'

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
  return (
    <ActionForm
      title={t('action.issue.title')}
      verb={t('action.issue.verb')}
      run={run}
      done={(made) => showKey(made, customer, done)}
      close={close}
    >
      {(problems) => (
        <>
          <p>{withForeign(t('action.issue.what', { email: HOLE }), displayName(customer))}</p>
          <Field
            name="Label"
            autofocus
            maxlength="100"
            label={t('word.label')}
            hint={t('key.label.hint')}
            problems={problems}
          />
          <Field
            name="Days"
            type="number"
            min="1"
            max="3650"
            label={t('key.days')}
            hint={t('key.days.never')}
            problems={problems}
          />
          <Field
            name="Networks"
            as="textarea"
            rows="2"
            label={t('word.networks')}
            hint={t('key.networks.hint')}
            problems={problems}
          />
          <Field
            name="RateLimit"
            type="number"
            min="0"
            label={t('word.rateLimit')}
            hint={t('key.rate.hint')}
            problems={problems}
          />
        </>
      )}
    </ActionForm>
  )
}

export const rotateKey = (customer, key, done) => showDialog(RotateKey, { customer, apiKey: key, done })

function RotateKey({ customer, apiKey, done, close }) {
  const run = ({ OverlapHours, Days }) =>
    post(keyPath(apiKey, 'rotate'), { OverlapHours: numberOf(OverlapHours), ExpiresAt: endOf(Days) })
  return (
    <ActionForm
      title={t('action.rotate.title')}
      verb={t('action.rotate.verb')}
      run={run}
      done={(made) => showKey(made, customer, done)}
      close={close}
    >
      {(problems) => (
        <>
          <p>{withForeign(t('action.rotate.what', { email: HOLE }), displayName(customer))}</p>
          <KeyName apiKey={apiKey} />
          <Field
            name="OverlapHours"
            type="number"
            min="0"
            max="8760"
            required
            autofocus
            defaultValue="24"
            label={t('key.overlap')}
            hint={t('key.overlap.hint')}
            problems={problems}
          />
          <Field
            name="Days"
            type="number"
            min="1"
            max="3650"
            label={t('key.days')}
            hint={t('key.days.same')}
            problems={problems}
          />
        </>
      )}
    </ActionForm>
  )
}

export const revokeKey = (customer, key, done) => showDialog(RevokeKey, { customer, apiKey: key, done })

const RevokeKey = ({ customer, apiKey, done, close }) => (
  <ActionForm
    title={t('action.revoke.title')}
    verb={t('action.revoke.verb')}
    danger
    run={() => post(keyPath(apiKey, 'revoke'))}
    done={done}
    close={close}
  >
    <p>{withForeign(t('action.revoke.what', { email: HOLE }), displayName(customer))}</p>
    <KeyName apiKey={apiKey} />
  </ActionForm>
)

const KeyName = ({ apiKey }) => (
  <p>
    <b>{apiKey.Label ? foreign(apiKey.Label) : t('key.noLabel')}</b> <code>{apiKey.KeyID}</code>
  </p>
)
