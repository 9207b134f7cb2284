import { useState } from 'preact/hooks'
import { zoneName } from '../lib/format.ts'
import { zone } from '../lib/preferences.ts'
import { setParameters } from '../lib/route.ts'
import { t } from '../lib/texts.ts'

const NARROW = matchMedia('(width < 52rem)')

/**
 * Filters above a table. They stand in the address, so `parameters` is what is shown.
 * fields: `{ name, label: () => text, kind: 'text' | 'time' | 'choice', choices: [[value, text]] }`.
 */
export function Filters({ fields, parameters }) {
  const [open] = useState(!NARROW.matches)
  const used = fields.filter(({ name }) => parameters[name])
  const apply = (event) => {
    event.preventDefault()
    const given = new FormData(event.currentTarget)
    const changes = fields.map(({ name, kind }) => {
      const text = String(given.get(name) ?? '').trim()
      return [name, kind === 'time' ? timeOf(text, parameters[name]) : textOf(text, parameters[name])]
    })
    if (changes.some(([name, value]) => value !== (parameters[name] ?? ''))) setParameters(Object.fromEntries(changes))
  }
  const clear = () => setParameters(Object.fromEntries(fields.map(({ name }) => [name, undefined])))
  return (
    <details class="filters-sheet" open={open}>
      <summary>
        {t('filters.title')} {used.length > 0 && <span class="badge">{used.length}</span>}
      </summary>
      <form
        class="filters"
        role="search"
        aria-label={t('filters.title')}
        onSubmit={apply}
        onChange={(event) => event.currentTarget.requestSubmit()}
      >
        {fields.map((field) => (
          <Field key={field.name} {...field} value={parameters[field.name] ?? ''} />
        ))}
        {used.length > 0 && (
          <button type="button" onClick={clear}>
            {t('filters.clear')}
          </button>
        )}
      </form>
    </details>
  )
}

function Field({ name, label, kind, choices, value }) {
  if (kind === 'choice') {
    return (
      <label>
        {label()}
        <select name={name} value={value}>
          <option value="">{t('word.any')}</option>
          {choices.map(([key, text]) => (
            <option key={key} value={key}>
              {text}
            </option>
          ))}
        </select>
      </label>
    )
  }
  const isTime = kind === 'time'
  return (
    <label>
      <span>
        {label()} {isTime && <small>{zoneName()}</small>}
      </span>
      <input
        name={name}
        type={isTime ? 'datetime-local' : 'text'}
        step={isTime ? 1 : undefined}
        value={isTime ? fieldTime(value) : value}
        spellcheck="false"
        autocomplete="off"
      />
    </label>
  )
}

/** A time of the address as the field wants it, in the zone in which times are shown. */
export function fieldTime(iso) {
  const at = Date.parse(iso)
  if (Number.isNaN(at)) return ''
  const minutes = zone.value === 'utc' ? 0 : new Date(at).getTimezoneOffset()
  return new Date(at - minutes * 60_000).toISOString().slice(0, 19)
}

/** A field has no line breaks: a text that was not changed stays as exact as it is in the address. */
const textOf = (text, before = '') => (before.replace(/[\r\n]/g, '').trim() === text ? before : text)

/** A field shows whole seconds: what was not changed stays as exact as it is in the address. */
export function timeOf(text, before) {
  if (before && text === fieldTime(before)) return before
  const at = Date.parse(zone.value === 'utc' ? `${text}Z` : text)
  return text === '' || Number.isNaN(at) ? '' : new Date(at).toISOString()
}
