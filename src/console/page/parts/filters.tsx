import type { TargetedKeyboardEvent } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { looksSecret } from '#src/lib/looks-secret.ts'
import { dateTime, zoneName } from '../lib/format.ts'
import { zone } from '../lib/preferences.ts'
import { setParameters } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { Icon } from './icon.tsx'

export interface FilterField {
  readonly name: string
  readonly label: string
  readonly kind: 'text' | 'time' | 'choice'
  readonly choices?: readonly (readonly [value: string, text: string])[]
  /** What the chip says instead of a value that nobody knows by heart. */
  readonly shown?: (value: string) => string | undefined
}

type Parameters = Readonly<Record<string, string | undefined>>

/** The list of all filters is open, not one of them. */
const ALL = 'all'

/**
 * Filters above a list, one chip for each that is set. They stand in the address, so `parameters` is what is shown. A chip opens its
 * field, and the button adds one.
 */
export function Filters({
  fields,
  parameters,
}: {
  readonly fields: readonly FilterField[]
  readonly parameters: Parameters
}) {
  const form = useRef<HTMLFormElement>(null)
  const [open, setOpen] = useState<string>()
  const [isSecret, setSecret] = useState(false)
  /** What gets the focus once it is drawn. */
  const next = useRef<string | undefined>(undefined)
  useLayoutEffect(() => {
    if (next.current !== undefined) form.current?.querySelector<HTMLElement>(next.current)?.focus()
    next.current = undefined
  }, [open])

  const show = (name: string) => {
    next.current = '.sheet :is(input, button)'
    setSecret(false)
    setOpen(name === open ? undefined : name)
  }
  const close = () => {
    next.current = `[data-opens="${open}"], [data-opens="${ALL}"]`
    setOpen(undefined)
  }
  const set = (name: string, value: string) => {
    close()
    if (value !== (parameters[name] ?? '')) setParameters({ [name]: value })
  }
  const opener = (name: string) =>
    ({ type: 'button', 'data-opens': name, 'aria-expanded': open === name, onClick: () => show(name) }) as const

  const used = fields.filter(({ name }) => parameters[name])
  const field = fields.find(({ name }) => name === open)
  return (
    <form
      class="line filters"
      role="search"
      aria-label={t('filters.title')}
      ref={form}
      onSubmit={(event) => {
        event.preventDefault()
        if (field === undefined) return
        const value = enteredIn(field, event.currentTarget, parameters[field.name])
        // What is filtered by stands in addresses.
        if (looksSecret(value)) setSecret(true)
        else set(field.name, value)
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && open !== undefined) close()
        else walk(event)
      }}
      onFocusOut={() =>
        // What has the focus may be about to be drawn.
        setTimeout(() => form.current?.contains(document.activeElement) || setOpen(undefined))
      }
    >
      {used.map((each) => (
        <span class="chip" key={each.name}>
          <button {...opener(each.name)}>
            {each.label}: <b class="foreign">{shownValue(each, parameters[each.name] ?? '')}</b>
          </button>
          <button
            type="button"
            aria-label={t('filters.remove', { name: each.label })}
            onClick={() => set(each.name, '')}
          >
            <Icon name="close" />
          </button>
        </span>
      ))}
      <button {...opener(ALL)}>
        <Icon name="filter" /> {t('filters.title')}
      </button>
      {used.length > 0 && <ClearFilters fields={fields} />}
      {open === ALL && (
        <div class="sheet options" tabIndex={-1}>
          {fields.map(({ name, label }) => (
            <button key={name} type="button" onClick={() => show(name)}>
              {label}
            </button>
          ))}
        </div>
      )}
      {field && (
        <Field
          key={field.name}
          {...field}
          value={parameters[field.name] ?? ''}
          problem={isSecret ? t('search.secret') : undefined}
          choose={(value) => set(field.name, value)}
        />
      )}
    </form>
  )
}

interface FieldProperties extends FilterField {
  readonly value: string
  readonly problem: string | undefined
  readonly choose: (value: string) => void
}

function Field({ name, label, kind, choices = [], value, problem, choose }: FieldProperties) {
  if (kind === 'choice') {
    return (
      <div class="sheet options" tabIndex={-1} role="group" aria-label={label}>
        {choices.map(([key, text]) => (
          <button key={key} type="button" aria-pressed={key === value} onClick={() => choose(key)}>
            {text}
          </button>
        ))}
      </div>
    )
  }
  const own =
    kind === 'time'
      ? ({ type: 'datetime-local', step: 1, defaultValue: fieldTime(value) } as const)
      : ({ type: 'text', defaultValue: value } as const)
  return (
    <div class="sheet" tabIndex={-1}>
      <label>
        {label} {kind === 'time' && zoneName()}
        <input name={name} spellcheck={false} autocomplete="off" {...own} />
      </label>
      <button class="primary">{t('filters.apply')}</button>
      {problem && (
        <p class="failed" role="alert">
          {problem}
        </p>
      )}
    </div>
  )
}

const clear = (fields: readonly FilterField[]) =>
  setParameters(Object.fromEntries(fields.map(({ name }) => [name, undefined])))

const ClearFilters = ({ fields }: { readonly fields: readonly FilterField[] }) => (
  <button type="button" class="quiet" onClick={() => clear(fields)}>
    {t('filters.clear')}
  </button>
)

/** What a list shows if no row fits its filters. */
export const NoResults = ({ fields }: { readonly fields: readonly FilterField[] }) => (
  <p class="line">
    {t('filters.none')} <ClearFilters fields={fields} />
  </p>
)

/** The arrow keys move between the buttons of a list. */
function walk(event: TargetedKeyboardEvent<HTMLFormElement>) {
  const { key, target } = event
  if (!(target instanceof HTMLButtonElement && target.closest('.options'))) return
  const to =
    key === 'ArrowDown' ? target.nextElementSibling : key === 'ArrowUp' ? target.previousElementSibling : undefined
  if (!(to instanceof HTMLElement)) return
  event.preventDefault()
  to.focus()
}

function shownValue({ kind, choices = [], shown }: FilterField, value: string): string {
  if (kind === 'time') return Number.isNaN(Date.parse(value)) ? value : dateTime(value)
  return choices.find(([key]) => key === value)?.[1] ?? shown?.(value) ?? value
}

function enteredIn({ name, kind }: FilterField, form: HTMLFormElement, before: string | undefined) {
  const text = String(new FormData(form).get(name) ?? '').trim()
  return kind === 'time' ? timeOf(text, before) : textOf(text, before)
}

/** A time of the address as the field wants it, in the zone in which times are shown. */
function fieldTime(iso: string): string {
  const at = Date.parse(iso)
  if (Number.isNaN(at)) return ''
  const minutes = zone.value === 'utc' ? 0 : new Date(at).getTimezoneOffset()
  return new Date(at - minutes * 60_000).toISOString().slice(0, 19)
}

/** A field has no line breaks: a text that was not changed stays as exact as it is in the address. */
const textOf = (text: string, before = '') => (before.replace(/[\r\n]/g, '').trim() === text ? before : text)

/** A field shows whole seconds: what was not changed stays as exact as it is in the address. */
export function timeOf(text: string, before?: string): string {
  if (before && text === fieldTime(before)) return before
  const at = Date.parse(zone.value === 'utc' ? `${text}Z` : text)
  return text === '' || Number.isNaN(at) ? '' : new Date(at).toISOString()
}
