import { type ComponentChildren, createContext, h, type TargetedSubmitEvent } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { zoneName } from '../lib/format.ts'
import type { ApiError } from '../lib/request.ts'
import { type TextKey, t } from '../lib/texts.ts'
import { forgetPages } from '../lib/use-pages.ts'
import { type Closing, showDialog } from './dialog.tsx'
import { fieldText, Problem, problemText } from './problem.tsx'

/** The problem of each field of the form that needs correcting, by the field's name: { Email: 'text' }. */
const Problems = createContext<Readonly<Record<string, string>>>({})

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

function problemsByField(error: ApiError | undefined) {
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

interface Action<Result> {
  readonly title: TextKey
  /** What the button says. */
  readonly verb: TextKey
  /** It takes something away. */
  readonly danger?: boolean
  readonly run: (values: Values) => Promise<Result>
  readonly done?: ((result: Result) => void) | undefined
  /** What will happen, and the fields. Their texts are read when they are drawn: the language may change. */
  readonly children: ComponentChildren
}

export const showAction = <Result,>(action: Action<Result>): void => showDialog(ActionForm<Result>, action)

interface Waiting {
  /** The button does nothing yet. */
  readonly waiting?: boolean
}

export function ActionForm<Result>(properties: Action<Result> & Waiting & Closing) {
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
      <h2 id="dialog-title">{t(title)}</h2>
      <Problems.Provider value={problems}>{children}</Problems.Provider>
      {elsewhere && <Problem error={error} />}
      <p class="line buttons">
        <button type="submit" class={danger ? 'danger' : 'primary'} aria-disabled={busy || waiting}>
          {t(busy ? 'action.busy' : verb)}
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
  readonly label: TextKey
  readonly hint?: TextKey
  readonly as?: 'input' | 'textarea'
  readonly type?: 'text' | 'email' | 'url' | 'number' | 'datetime-local'
  readonly defaultValue?: string
  readonly required?: boolean
  readonly autofocus?: boolean
  readonly min?: string
  readonly max?: string
  readonly step?: string
  readonly maxlength?: number
  readonly rows?: number
}

/** A labelled field with a hint and, after a refusal, what is wrong with it. */
export function Field({ name, label, hint, as = 'input', ...more }: FieldProperties) {
  const problem = useContext(Problems)[name]
  const described = [hint && `hint-${name}`, problem && `problem-${name}`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={`field-${name}`}>{t(label, { zone: zoneName() })}</label>
      {h(as, {
        ...more,
        id: `field-${name}`,
        name,
        autocomplete: 'off',
        spellcheck: false,
        'aria-describedby': described || undefined,
        'aria-invalid': problem ? true : undefined,
      })}
      {hint && <small id={`hint-${name}`}>{t(hint)}</small>}
      {problem && <FieldProblem name={name} text={problem} />}
    </div>
  )
}

const FieldProblem = ({ name, text }: { readonly name: string; readonly text: string }) => (
  <small id={`problem-${name}`} class="failed foreign" role="alert">
    {text}
  </small>
)

/** For how many hours what was there before works, too. */
export const Overlap = (more: Pick<FieldProperties, 'hint' | 'max' | 'step'>) => (
  <Field name="OverlapHours" type="number" min="0" required autofocus defaultValue="24" label="key.overlap" {...more} />
)

export type Choices<Choice extends string> = readonly (readonly [choice: Choice, text: TextKey])[]

interface RadiosProperties<Choice extends string> {
  readonly name: string
  readonly legend: TextKey
  readonly choices: Choices<Choice>
  readonly onChoose?: (choice: Choice) => void
}

/** One of several choices; the first one is made already. */
export const Radios = <Choice extends string>({ name, legend, choices, onChoose }: RadiosProperties<Choice>) => (
  <fieldset>
    <legend>{t(legend)}</legend>
    {choices.map(([choice, text], index) => (
      <label class="choice" key={choice}>
        <input
          type="radio"
          name={name}
          value={choice}
          defaultChecked={index === 0}
          onChange={() => onChoose?.(choice)}
        />
        <span>{t(text)}</span>
      </label>
    ))}
  </fieldset>
)

interface ChecksProperties {
  readonly name: string
  readonly legend: TextKey
  /** The text shown if none is chosen. */
  readonly none: TextKey
  readonly children: ComponentChildren
}

export function Checks({ name, legend, none, children }: ChecksProperties) {
  const problem = useContext(Problems)[name]
  return (
    <fieldset name={name} aria-describedby={problem && `problem-${name}`}>
      <legend>{t(legend)}</legend>
      <div class="line choices">{children}</div>
      {problem && <FieldProblem name={name} text={t(none)} />}
    </fieldset>
  )
}

export const Check = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <label class="choice">
    <input type="checkbox" name={name} defaultChecked />
    <span>{children}</span>
  </label>
)

/** The entries of a text: by lines, commas or spaces. */
export const entriesOf = (text = '', separator = /[\n,]/): string[] =>
  text
    .split(separator)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')

/** Returns undefined for an empty number field. */
export const numberOf = (text = ''): number | undefined => (text === '' ? undefined : Number(text))
