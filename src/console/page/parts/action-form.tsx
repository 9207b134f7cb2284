import { useEffect, useRef, useState } from 'preact/hooks'
import { copy as copyText } from '../../../page/copy.ts'
import { curlCommand, quoted } from '../../../page/curl.ts'
import { t } from '../lib/texts.ts'
import { forgetPages } from '../lib/use-pages.ts'
import { fieldText, Problem, problemText } from './problem.tsx'

/** The field that an error is about, where its answer names none. */
const FIELDS = {
  EMAIL_INVALID: 'Email',
  EMAIL_TAKEN: 'Email',
  NAME_INVALID: 'Name',
  NOTE_INVALID: 'Note',
  REASON_INVALID: 'Reason',
  READ_ONLY_ALONE: 'Role',
  REGION_INVALID: 'Regions',
  AUTHORITY_RULE_INVALID: 'Rules',
  AUTHORITY_RULE_MISSING: 'Rules',
  LABEL_INVALID: 'Label',
  NETWORK_INVALID: 'Networks',
  CUSTOMER_NOT_FOUND: 'Customer',
  CUSTOMER_REMOVED: 'Customer',
  CURSOR_INVALID: 'From',
  CURSOR_PURGED: 'From',
  DELIVERIES_LOST: 'From',
  DELIVERY_NOT_FOUND: 'ReceiptID',
  WEBHOOK_URL_INVALID: 'URL',
  WEBHOOK_ADDRESS_FORBIDDEN: 'URL',
  WEBHOOK_CA_INVALID: 'CA',
  WEBHOOK_DELIVERY_LEFT_OUT: 'ReceiptID',
  WEBHOOK_DELIVERY_PENDING: 'ReceiptID',
  ORDER_NOT_FOUND: 'OrderID',
  ORDER_AMBIGUOUS: 'Customer',
}

/** Other names of fields in requests. */
const NAMES = { AuthorityRules: 'Rules', ExpiresAt: 'Days', GiveUpSeconds: 'GiveUpHours' }

/** Returns what is wrong, by field: { Email: 'text' }. */
function problemsByField(error) {
  if (error === undefined) return {}
  const field = FIELDS[error.code]
  if (field !== undefined) return { [field]: problemText(error) }
  return Object.fromEntries(
    error.problems.map((problem) => {
      const name = problem.path.split('/')[1] ?? ''
      return [NAMES[name] ?? name, `${t('action.notValid')} ${fieldText(problem)}`]
    }),
  )
}

/** Keeps Escape from closing the dialog around an element while `mustStay()` is true. */
export function useStay(element, mustStay) {
  const latest = useRef(mustStay)
  latest.current = mustStay
  useEffect(() => {
    const dialog = element.current.closest('dialog')
    const stay = (event) => latest.current() && event.preventDefault()
    dialog.addEventListener('cancel', stay)
    return () => dialog.removeEventListener('cancel', stay)
  }, [])
}

/**
 * A form in a dialog, for one action. Its heading and `children` say what will happen, and its button has the verb. `run` gets the
 * values by name; `done` gets what it returns. `children` may be a function of the problems by field. While `waiting` the button does nothing.
 */
export function ActionForm({ title, verb, danger, waiting = false, run, done, close, children }) {
  const form = useRef()
  const running = useRef(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState()
  useStay(form, () => running.current)
  useEffect(() => {
    if (error === undefined) return
    const wrong = form.current.querySelector('[aria-invalid=true]') ?? form.current.querySelector('[type=submit]')
    wrong.focus()
  }, [error])

  const submit = async (event) => {
    event.preventDefault()
    if (running.current || waiting) return
    running.current = true
    setBusy(true)
    setError(undefined)
    try {
      const result = await run(Object.fromEntries(new FormData(form.current)))
      forgetPages()
      close()
      done?.(result)
    } catch (problem) {
      setError(problem)
    } finally {
      running.current = false
      setBusy(false)
    }
  }

  const problems = problemsByField(error)
  const named = (name) => form.current?.elements.namedItem(name) != null
  const elsewhere = error !== undefined && !Object.keys(problems).some(named)
  return (
    <form class="action" noValidate ref={form} onSubmit={submit} aria-busy={String(busy)}>
      <h2 id="dialog-title">{title}</h2>
      {typeof children === 'function' ? children(problems) : children}
      {elsewhere && <Problem error={error} />}
      <p class="buttons">
        <button type="submit" class={danger ? 'danger' : 'primary'} aria-disabled={String(busy || waiting)}>
          {busy ? t('action.busy') : verb}
        </button>
        <button type="button" disabled={busy} autofocus={danger} onClick={close}>
          {t('action.cancel')}
        </button>
      </p>
    </form>
  )
}

/** A labelled field with a hint and, after a refusal, what is wrong with it. `as` is `input` unless given. */
export function Field({ name, label, hint, problems = {}, as: Element = 'input', ...more }) {
  const problem = problems[name]
  const described = [hint && `hint-${name}`, problem && `problem-${name}`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={`field-${name}`}>{label}</label>
      <Element
        id={`field-${name}`}
        name={name}
        autocomplete="off"
        spellcheck="false"
        aria-describedby={described || undefined}
        aria-invalid={problem ? 'true' : undefined}
        {...more}
      />
      {hint && <small id={`hint-${name}`}>{hint}</small>}
      {problem && (
        <small id={`problem-${name}`} class="failed foreign" role="alert">
          {problem}
        </small>
      )}
    </div>
  )
}

/** The entries of a text: by lines, commas or spaces. */
export const entriesOf = (text, separator = /[\n,]/) =>
  text
    .split(separator)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')

/** Returns undefined for an empty number field. */
export const numberOf = (text) => (text === '' ? undefined : Number(text))

/** Shows a key or a password once. Closing without having copied it asks again. `sample` returns a command that uses it. */
export function Secret({ title, about, email, secret, once = t('secret.once'), sample, close }) {
  const box = useRef()
  const text = useRef()
  const [copied, setCopied] = useState(false)
  const [asked, setAsked] = useState(false)
  useStay(box, () => {
    if (copied || asked) return false
    setAsked(true)
    return true
  })
  const copy = async () => {
    if (await copyText(secret)) setCopied(true)
    // The user copies what is selected.
    else getSelection().selectAllChildren(text.current)
  }
  const leave = () => (copied || asked ? close() : setAsked(true))
  return (
    <div class="action" ref={box}>
      <h2 id="dialog-title">{title}</h2>
      <p>{withForeign(about(HOLE), email)}</p>
      <p class="secret">
        <code class="foreign" ref={text}>
          {secret}
        </code>
        <button class="primary" onClick={copy}>
          {t('word.copy')}
        </button>
      </p>
      <p class={asked && !copied ? 'warning' : 'note'} role="status">
        {copied ? t('secret.copied') : asked ? t('secret.again') : once}
      </p>
      {sample && (
        <>
          <p class="note">{t('secret.sample')}</p>
          <pre class="foreign" tabindex="0" role="region" aria-label={t('secret.sample')}>
            {sample(secret)}
          </pre>
        </>
      )}
      <p class="buttons">
        <button onClick={leave}>{asked && !copied ? t('secret.forget') : t('word.close')}</button>
      </p>
    </div>
  )
}

/** A delivery that a customer with these rules may send. */
export function deliveryCommand(apiKey, rules = []) {
  const rule = rules.includes('*') ? '*' : (rules[0] ?? '*')
  const product = rule === '*' ? 'SKU-1' : rule.replace(/\*$/, '1')
  const body = { OrderID: 'PO-1', Status: 2, Products: [{ Sku: product, Quantity: 1 }] }
  return curlCommand({
    url: `${location.origin}/Purchase/update`,
    headers: [quoted(`ApiKey: ${apiKey}`)],
    body: JSON.stringify(body),
  })
}

/** Stands in a text where something foreign comes, for withForeign. */
export const HOLE = '\0'

/** Returns a text with something foreign in it, apart from its surroundings. */
export const withForeign = (text, foreign) =>
  text.split(HOLE).flatMap((part, index) => (index === 0 ? [part] : [<b class="foreign">{foreign}</b>, part]))
