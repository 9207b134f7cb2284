import { useState } from 'preact/hooks'
import { post } from '../../lib/api.ts'
import { STATUSES } from '../../lib/foreign.tsx'
import { zoneName } from '../../lib/format.ts'
import { go } from '../../lib/route.ts'
import { t } from '../../lib/texts.ts'
import { ActionForm, Field, numberOf, Secret } from '../action-form.tsx'
import { showDialog } from '../dialog.tsx'
import { timeOf } from '../filters.tsx'

const HOUR_SECONDS = 3600

/** Shows a secret, which no answer contains again. */
export const showSecret = ({ Endpoint, Secret: secret }) =>
  showDialog(Secret, {
    title: t('webhook.secret.title'),
    about: (url) => t('webhook.secret.about', { url }),
    email: Endpoint.URL,
    secret,
    once: t('webhook.secret.once'),
  })

/** The value of `From` in a request: `now`, `start`, or what the field contains. */
export const fromOf = ({ Begin, From }) => (Begin === 'time' ? timeOf(From) : Begin === 'cursor' ? From.trim() : Begin)

export const addEndpoint = () => showDialog(AddEndpoint)

function AddEndpoint({ close }) {
  const run = (values) => {
    const statuses = STATUSES.filter((status) => values[`Status${status}`])
    const hours = numberOf(values.GiveUpHours)
    return post('/Webhook/endpoints', {
      URL: values.URL.trim(),
      Customer: values.Customer.trim() || undefined,
      Statuses: statuses.length === STATUSES.length ? undefined : statuses,
      Duplicates: values.Duplicates !== undefined,
      From: fromOf(values),
      GiveUpSeconds: hours && Math.round(hours * HOUR_SECONDS),
      CA: values.CA.trim() || undefined,
    })
  }
  const done = (added) => {
    go('webhook', [added.Endpoint.EndpointID])
    showSecret(added)
  }
  return (
    <ActionForm title={t('webhook.add.title')} verb={t('webhook.add.verb')} run={run} done={done} close={close}>
      {(problems) => (
        <>
          <p>{t('webhook.add.what')}</p>
          <Field
            name="URL"
            type="url"
            inputmode="url"
            required
            autofocus
            label={t('word.url')}
            hint={t('webhook.url.hint')}
            problems={problems}
          />
          <Begin
            words="webhook.from"
            choices={['now', 'start', 'time', 'cursor']}
            legend={t('webhook.from')}
            problems={problems}
          />
          <Field name="Customer" label={t('word.customer')} hint={t('webhook.customer.hint')} problems={problems} />
          <Statuses problem={problems.Statuses} />
          <Check name="Duplicates" label={t('webhook.duplicates.also')} />
          <Field
            name="GiveUpHours"
            type="number"
            min="0"
            step="any"
            label={t('webhook.giveUpHours')}
            hint={t('webhook.giveUpHours.hint')}
            problems={problems}
          />
          <details>
            <summary>{t('word.ca')}</summary>
            <Field
              name="CA"
              as="textarea"
              rows="3"
              label={t('webhook.ca.pem')}
              hint={t('webhook.ca.hint')}
              problems={problems}
            />
          </details>
        </>
      )}
    </ActionForm>
  )
}

const Check = ({ name, label }) => (
  <label class="choice">
    <input type="checkbox" name={name} defaultChecked />
    <span>{label}</span>
  </label>
)

export const Statuses = ({ problem }) => (
  <fieldset name="Statuses" aria-describedby={problem && 'problem-Statuses'}>
    <legend>{t('word.status')}</legend>
    <div class="choices">
      {STATUSES.map((status) => (
        <Check key={status} name={`Status${status}`} label={`${status} · ${t(`status.${status}`)}`} />
      ))}
    </div>
    {problem && (
      <small id="problem-Statuses" class="failed foreign" role="alert">
        {t('webhook.statuses.none')}
      </small>
    )}
  </fieldset>
)

/** Where to begin, with a field for a time or a cursor. `words` is the beginning of the keys of the choices. `children` may say what a choice means: (chosen) => node. */
export function Begin({ choices, words, legend, problems, children }) {
  const [chosen, setChosen] = useState(choices[0])
  return (
    <>
      <fieldset>
        <legend>{legend}</legend>
        {choices.map((choice) => (
          <label class="choice" key={choice}>
            <input
              type="radio"
              name="Begin"
              value={choice}
              defaultChecked={choice === choices[0]}
              onChange={() => setChosen(choice)}
            />
            <span>{t(`${words}.${choice}`)}</span>
          </label>
        ))}
      </fieldset>
      {chosen === 'time' && (
        <Field
          key="time"
          name="From"
          type="datetime-local"
          step="1"
          required
          label={t('webhook.from.timeField', { zone: zoneName() })}
          problems={problems}
        />
      )}
      {chosen === 'cursor' && (
        <Field
          key="cursor"
          name="From"
          required
          label={t('word.cursor')}
          hint={t('webhook.from.cursorHint')}
          problems={problems}
        />
      )}
      {chosen === 'receipt' && (
        <Field key="receipt" name="ReceiptID" required label={t('word.receipt')} problems={problems} />
      )}
      {children?.(chosen)}
    </>
  )
}
