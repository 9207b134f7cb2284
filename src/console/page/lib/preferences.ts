import { effect, signal } from '@preact/signals'

const KEY = 'teslim.console'
const LANGUAGES = ['en', 'tr'] as const
type Language = (typeof LANGUAGES)[number]

const usualLanguage = (): Language =>
  navigator.languages.map((tag) => LANGUAGES.find((each) => each === tag.slice(0, 2).toLowerCase())).find(Boolean) ??
  'en'

function stored(): Record<string, unknown> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '{}') ?? {}
  } catch {
    return {}
  }
}

const kept = stored()
const oneOf = <Value>(value: unknown, allowed: readonly Value[], usual: Value): Value =>
  allowed.find((each) => each === value) ?? usual

export const language = signal(oneOf(kept.language, LANGUAGES, usualLanguage()))
export const theme = signal(oneOf(kept.theme, ['system', 'light', 'dark'] as const, 'system'))
/** `utc`, or `local` for the time zone of the browser. */
export const zone = signal(oneOf(kept.zone, ['utc', 'local'] as const, 'local'))

effect(() => {
  const all = { language: language.value, theme: theme.value, zone: zone.value }
  document.documentElement.lang = all.language
  document.documentElement.dataset.theme = all.theme
  try {
    localStorage.setItem(KEY, JSON.stringify(all))
  } catch {
    // A browser may refuse to store anything. The choice then lasts until the page is closed.
  }
})
