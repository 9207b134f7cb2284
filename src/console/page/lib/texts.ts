import { signal } from '@preact/signals'
import { language } from './preferences.ts'
import { settings } from './settings.ts'

const texts = signal({})
const loaded = {}
/** Slow to make, so each is kept. */
const plurals = {}

/** Loads the texts of the chosen language. */
export async function loadTexts() {
  const chosen = language.value
  loaded[chosen] ??= await fetchTexts(settings.texts[chosen])
  // Another language may have been chosen meanwhile.
  if (chosen === language.value) texts.value = loaded[chosen]
}

/** The words of the page, and those of the messages of the server. */
async function fetchTexts(path) {
  const answer = await fetch(path)
  if (!answer.ok) throw new Error(`the texts were answered with ${answer.status}`)
  return answer.json()
}

/**
 * Returns a text of the chosen language: t(key, { count: 3 }). `{count}` stands for a value, which is inserted as it is. With
 * a `count`, the forms `key.one` and `key.other` are tried first.
 */
export function t(key, values = {}) {
  const all = texts.value
  const form = values.count === undefined ? undefined : pluralOf(values.number ?? values.count)
  const text = all[`${key}.${form}`] ?? all[`${key}.other`] ?? all[key] ?? key
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '')
}

function pluralOf(number) {
  plurals[language.value] ??= new Intl.PluralRules(language.value)
  return plurals[language.value].select(number)
}

/** The text of a key as it is. */
export const textOf = (key) => texts.value[key]

/** Whether there is a text, for codes that a newer server may send. */
export const hasText = (key) => texts.value[key] !== undefined
