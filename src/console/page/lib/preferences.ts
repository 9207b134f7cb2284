import { effect, signal } from '@preact/signals'

const KEY = 'teslim.console'
const LANGUAGES = ['en', 'tr']

const usualLanguage = () =>
  navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase()).find((tag) => LANGUAGES.includes(tag)) ?? 'en'

function stored() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {}
  } catch {
    return {}
  }
}

const kept = stored()
const oneOf = (value, allowed, usual) => (allowed.includes(value) ? value : usual)

export const language = signal(oneOf(kept.language, LANGUAGES, usualLanguage()))
export const theme = signal(oneOf(kept.theme, ['system', 'light', 'dark'], 'system'))
/** `utc`, or `local` for the time zone of the browser. */
export const zone = signal(oneOf(kept.zone, ['utc', 'local'], 'local'))

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
