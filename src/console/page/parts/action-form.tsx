import { type ComponentChildren, h, type TargetedSubmitEvent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { copy as copyText } from '../../../page/copy.ts'
import { curlCommand, quoted } from '../../../page/curl.ts'
import { HOLE, withForeign } from '../lib/foreign.tsx'
import type { ApiError } from '../lib/request.ts'
import { t } from '../lib/texts.ts'
import { forgetPages } from '../lib/use-pages.ts'
import { fieldText, Problem, problemText } from './problem.tsx'

export { HOLE, withForeign } from '../lib/foreign.tsx'

/** What is wrong, by field: { Email: 'text' }. */
export type Problems = Readonly<Record<string, string>>

/** What the entered fields hold, by name. */
export type Values = Readonly<Record<string, string>>

/** Other names of fields in requests. */
const NAMES: Readonly<Record<string, string>> = {
  AuthorityRules: 'Rules',
  ExpiresAt: 'Days',
  GiveUpSeconds: 'GiveUpHours',
  Scope: 'Role',
  IsReadOnly: 'Role',
}

function problemsByField(error: ApiError | undefined): Problems {
  if (error === undefined) return {}
  return Object.fromEntries(
    error.problems.map((problem) => {
      const name = problem.path.split('/')[1] ?? ''
      const text =
        error.code === 'INVALID_REQUEST' ? `${t('action.notValid')} ${fieldText(problem)}` : problemText(error)
      return [NAMES[name] ?? name, text]
    }),
  )
}

/** Keeps Escape from closing the dialog around an element while `mustStay()` is true. */
export function useStay(element: { readonly current: HTMLElement | null }, mustStay: () => boolean): void {
  const latest = useRef(mustStay)
  latest.current = mustStay
  useEffect(() => {
    const dialog = element.current?.closest('dialog')
    const stay = (event: Event): void => {
      if (latest.current()) event.preventDefault()
    }
    dialog?.addEventListener('cancel', stay)
    return () => dialog?.removeEventListener('cancel', stay)
  }, [])
}

interface ActionProperties<Result> {
  readonly title: string
  readonly verb: string
  readonly danger?: boolean
  readonly waiting?: boolean
  readonly run: (values: Values) => Promise<Result>
  readonly done?: ((result: Result) => void) | undefined
  readonly close: () => void
  readonly children?: ComponentChildren | ((problems: Problems) => ComponentChildren)
}

/**
 * A form in a dialog, for one action. Its heading and `children` say what will happen, and its button has the verb. `run` gets the
 * values by name; `done` gets what it returns. `children` may be a function of the problems by field. While `waiting` the button does nothing.
 */
export function ActionForm<Result>(properties: ActionProperties<Result>) {
  const { title, verb, danger = false, waiting = false, run, done, close, children } = properties
  const form = useRef<HTMLFormElement>(null)
  const running = useRef(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError>()
  useStay(form, () => running.current)
  useEffect(() => {
    if (error === undefined) return
    const first = (what: string) => form.current?.querySelector<HTMLElement>(what)
    const wrong = first('[aria-invalid=true]') ?? first('[type=submit]')
    wrong?.focus()
  }, [error])

  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (running.current || waiting) return
    running.current = true
    setBusy(true)
    setError(undefined)
    try {
      const result = await run(valuesOf(event.currentTarget))
      forgetPages()
      close()
      done?.(result)
    } catch (problem) {
      // `run` throws nothing else.
      setError(problem as ApiError)
    } finally {
      running.current = false
      setBusy(false)
    }
  }

  const problems = problemsByField(error)
  const named = (name: string) => form.current?.elements.namedItem(name) != null
  const elsewhere = error !== undefined && !Object.keys(problems).some(named)
  return (
    <form class="action" noValidate ref={form} onSubmit={submit} aria-busy={busy}>
      <h2 id="dialog-title">{title}</h2>
      {typeof children === 'function' ? children(problems) : children}
      {elsewhere && <Problem error={error} />}
      <p class="buttons">
        <button type="submit" class={danger ? 'danger' : 'primary'} aria-disabled={busy || waiting}>
          {busy ? t('action.busy') : verb}
        </button>
        <button type="button" disabled={busy} autofocus={danger} onClick={close}>
          {t('action.cancel')}
        </button>
      </p>
    </form>
  )
}

const valuesOf = (form: HTMLFormElement): Values =>
  Object.fromEntries(Array.from(new FormData(form), ([name, value]) => [name, String(value)]))

interface FieldProperties {
  readonly name: string
  readonly label: string
  readonly hint?: string | undefined
  readonly problems?: Problems | undefined
  readonly as?: 'input' | 'textarea'
  readonly type?: 'text' | 'email' | 'url' | 'number' | 'datetime-local'
  readonly defaultValue?: string | undefined
  readonly required?: boolean
  readonly autofocus?: boolean
  readonly min?: string
  readonly max?: string
  readonly step?: string
  readonly maxlength?: number
  readonly rows?: number
  readonly inputmode?: 'numeric' | 'decimal'
}

/** A labelled field with a hint and, after a refusal, what is wrong with it. */
export function Field({ name, label, hint, problems = {}, as = 'input', ...more }: FieldProperties) {
  const problem = problems[name]
  const described = [hint && `hint-${name}`, problem && `problem-${name}`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={`field-${name}`}>{label}</label>
      {h(as, {
        ...more,
        id: `field-${name}`,
        name,
        autocomplete: 'off',
        spellcheck: false,
        'aria-describedby': described || undefined,
        'aria-invalid': problem ? true : undefined,
      })}
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
export const entriesOf = (text = '', separator = /[\n,]/): string[] =>
  text
    .split(separator)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')

/** Returns undefined for an empty number field. */
export const numberOf = (text = ''): number | undefined => (text === '' ? undefined : Number(text))

interface SecretProperties {
  readonly title: string
  readonly about: (email: string) => string
  readonly email: string
  readonly secret: string
  readonly once?: string
  /** Returns a command that uses it. */
  readonly sample?: (secret: string) => string
  readonly close: () => void
}

/** Shows a key or a password once. Closing without having copied it asks again. */
export function Secret({ title, about, email, secret, once = t('secret.once'), sample, close }: SecretProperties) {
  const box = useRef<HTMLDivElement>(null)
  const text = useRef<HTMLElement>(null)
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
    else if (text.current) getSelection()?.selectAllChildren(text.current)
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
          <pre class="foreign" tabindex={0} role="region" aria-label={t('secret.sample')}>
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
export function deliveryCommand(apiKey: string, rules: readonly string[] = []): string {
  const rule = rules.includes('*') ? '*' : (rules[0] ?? '*')
  const product = rule === '*' ? 'SKU-1' : rule.replace(/\*$/, '1')
  const body = { OrderID: 'PO-1', Status: 2, Products: [{ Sku: product, Quantity: 1 }] }
  return curlCommand({
    url: `${location.origin}/Purchase/update`,
    headers: [quoted(`ApiKey: ${apiKey}`)],
    body: JSON.stringify(body),
  })
}
