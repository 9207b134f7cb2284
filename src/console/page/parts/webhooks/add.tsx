import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { post } from '../../lib/api.ts'
import { Sentence, STATUSES } from '../../lib/foreign.tsx'
import { go } from '../../lib/route.ts'
import { t } from '../../lib/texts.ts'
import { Check, Checks, type Choices, Field, numberOf, Radios, showAction, type Values } from '../action-form.tsx'
import { timeOf } from '../filters.tsx'
import { showSecret } from '../secret.tsx'
import type { WithSecret } from './words.tsx'

const HOUR_SECONDS = 3600

/** Shows a secret, which no answer contains again. */
export const showEndpointSecret = ({ Endpoint, Secret: secret }: WithSecret): void =>
  showSecret({
    title: 'webhook.secret.title',
    about: 'webhook.secret.about',
    name: Endpoint.URL,
    secret,
    once: 'webhook.secret.once',
  })

/** The value of `From` in a request: `now`, `start`, or what the field contains. */
export const fromOf = ({ Begin: chosen = '', From = '' }: Values): string =>
  chosen === 'time' ? timeOf(From) : chosen === 'cursor' ? From.trim() : chosen

/** The Statuses that are chosen; undefined for all. */
export function statusesOf(values: Values): number[] | undefined {
  const chosen = STATUSES.filter((status) => values[`Status${status}`])
  return chosen.length === STATUSES.length ? undefined : chosen
}

export const filled = (text = ''): string | undefined => text.trim() || undefined

const BEGINNINGS = [
  ['now', 'webhook.from.now'],
  ['start', 'webhook.from.start'],
  ['time', 'webhook.from.time'],
  ['cursor', 'webhook.from.cursor'],
] as const

export const addEndpoint = (): void =>
  showAction({
    title: 'webhook.add.title',
    verb: 'webhook.add.verb',
    run(values: Values) {
      const hours = numberOf(values.GiveUpHours)
      return post<WithSecret>('/Webhook/endpoints', {
        URL: values.URL?.trim(),
        Customer: filled(values.Customer),
        Statuses: statusesOf(values),
        Duplicates: values.Duplicates !== undefined,
        From: fromOf(values),
        GiveUpSeconds: hours && Math.round(hours * HOUR_SECONDS),
        CA: filled(values.CA),
      })
    },
    done(added) {
      go('webhook', [added.Endpoint.EndpointID])
      showEndpointSecret(added)
    },
    children: (
      <>
        <Sentence text="webhook.add.what" />
        <Field name="URL" type="url" required autofocus label="word.url" hint="webhook.url.hint" />
        <Begin choices={BEGINNINGS} legend="webhook.from" />
        <Field name="Customer" label="word.customer" hint="webhook.customer.hint" />
        <Statuses />
        <Duplicates />
        <Field
          name="GiveUpHours"
          type="number"
          min="0"
          step="any"
          label="webhook.giveUpHours"
          hint="webhook.giveUpHours.hint"
        />
        <Authority />
      </>
    ),
  })

const Duplicates = () => <Check name="Duplicates">{t('webhook.duplicates.also')}</Check>

const Authority = () => (
  <details>
    <summary>{t('word.ca')}</summary>
    <Field name="CA" as="textarea" rows={3} label="webhook.ca.pem" hint="webhook.ca.hint" />
  </details>
)

export const Statuses = () => (
  <Checks name="Statuses" legend="word.status" none="webhook.statuses.none">
    {STATUSES.map((status) => (
      <Check key={status} name={`Status${status}`}>
        {status} · {t(`status.${status}`)}
      </Check>
    ))}
  </Checks>
)

interface BeginProps<Choice extends string> {
  readonly choices: Choices<Choice>
  readonly legend: 'webhook.from' | 'webhook.replay.which'
  /** May say what a choice means. */
  readonly children?: (chosen: Choice) => ComponentChildren
}

/** Where to begin, with a field for a time, a cursor or a receipt. */
export function Begin<Choice extends string>({ choices, legend, children }: BeginProps<Choice>) {
  const [chosen, setChosen] = useState(choices[0]?.[0])
  return (
    <>
      <Radios name="Begin" legend={legend} choices={choices} onChoose={setChosen} />
      {chosen === 'time' && (
        <Field key="time" name="From" type="datetime-local" step="1" required label="webhook.from.timeField" />
      )}
      {chosen === 'cursor' && (
        <Field key="cursor" name="From" required label="word.cursor" hint="webhook.from.cursorHint" />
      )}
      {chosen === 'receipt' && <Field key="receipt" name="ReceiptID" required label="word.receipt" />}
      {chosen && children?.(chosen)}
    </>
  )
}
