import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { post } from '../../lib/api.ts'
import { STATUSES } from '../../lib/foreign.tsx'
import { zoneName } from '../../lib/format.ts'
import { go } from '../../lib/route.ts'
import { type TextKey, t } from '../../lib/texts.ts'
import { ActionForm, Field, numberOf, type Problems, Secret, type Values } from '../action-form.tsx'
import { showDialog } from '../dialog.tsx'
import { timeOf } from '../filters.tsx'
import type { Closing, WithSecret } from './words.tsx'

const HOUR_SECONDS = 3600

/** Shows a secret, which no answer contains again. */
export const showSecret = ({ Endpoint, Secret: secret }: WithSecret): void =>
  showDialog(Secret, {
    title: t('webhook.secret.title'),
    about: (url: string) => t('webhook.secret.about', { url }),
    email: Endpoint.URL,
    secret,
    once: t('webhook.secret.once'),
  })

/** The value of `From` in a request: `now`, `start`, or what the field contains. */
export const fromOf = ({ Begin: chosen = '', From = '' }: Values): string =>
  chosen === 'time' ? timeOf(From) : chosen === 'cursor' ? From.trim() : chosen

/** The Statuses that are chosen; undefined for all. */
export function statusesOf(values: Values): number[] | undefined {
  const chosen = STATUSES.filter((status) => values[`Status${status}`])
  return chosen.length === STATUSES.length ? undefined : chosen
}

/** What a field contains; undefined if it is empty. */
export const filled = (text = ''): string | undefined => text.trim() || undefined

export const addEndpoint = (): void => showDialog(AddEndpoint)

const BEGINNINGS = [
  ['now', 'webhook.from.now'],
  ['start', 'webhook.from.start'],
  ['time', 'webhook.from.time'],
  ['cursor', 'webhook.from.cursor'],
] as const

function AddEndpoint({ close }: Closing) {
  const run = (values: Values): Promise<WithSecret> => {
    const hours = numberOf(values.GiveUpHours)
    return post('/Webhook/endpoints', {
      URL: values.URL?.trim(),
      Customer: filled(values.Customer),
      Statuses: statusesOf(values),
      Duplicates: values.Duplicates !== undefined,
      From: fromOf(values),
      GiveUpSeconds: hours && Math.round(hours * HOUR_SECONDS),
      CA: filled(values.CA),
    })
  }
  const done = (added: WithSecret) => {
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
            required
            autofocus
            label={t('word.url')}
            hint={t('webhook.url.hint')}
            problems={problems}
          />
          <Begin choices={BEGINNINGS} legend={t('webhook.from')} problems={problems} />
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
              rows={3}
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

const Check = ({ name, label }: { readonly name: string; readonly label: string }) => (
  <label class="choice">
    <input type="checkbox" name={name} defaultChecked />
    <span>{label}</span>
  </label>
)

export const Statuses = ({ problem }: { readonly problem: string | undefined }) => (
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

interface BeginProps<Choice extends string> {
  readonly choices: readonly (readonly [choice: Choice, text: TextKey])[]
  readonly legend: string
  readonly problems: Problems
  /** May say what a choice means. */
  readonly children?: (chosen: Choice) => ComponentChildren
}

/** Where to begin, with a field for a time, a cursor or a receipt. The first choice is made already. */
export function Begin<Choice extends string>({ choices, legend, problems, children }: BeginProps<Choice>) {
  const [chosen, setChosen] = useState(choices[0]?.[0])
  return (
    <>
      <fieldset>
        <legend>{legend}</legend>
        {choices.map(([choice, text], index) => (
          <label class="choice" key={choice}>
            <input
              type="radio"
              name="Begin"
              value={choice}
              defaultChecked={index === 0}
              onChange={() => setChosen(choice)}
            />
            <span>{t(text)}</span>
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
      {chosen && children?.(chosen)}
    </>
  )
}
