import { signal } from '@preact/signals'
import type english from '../texts/en.json'
import { whole } from './format.ts'
import { language } from './preferences.ts'
import { settings } from './settings.ts'

type Texts = Readonly<Record<string, string>>
type WithoutForm<Key> = Key extends `${infer Base}.one` ? Base : Key extends `${infer Base}.other` ? Base : Key
/** The key of a text. One with forms of plurals is named without them. */
export type TextKey = WithoutForm<keyof typeof english>

const texts = signal<Texts>({})
const loaded: Record<string, Texts> = {}
/** Slow to make, so each is kept. */
const plurals: Record<string, Intl.PluralRules> = {}

/** Loads the texts of the chosen language. */
export async function loadTexts(): Promise<void> {
  const chosen = language.value
  const all = loaded[chosen] ?? (await fetchTexts(settings.texts[chosen] ?? ''))
  loaded[chosen] = all
  // Another language may have been chosen meanwhile.
  if (chosen === language.value) texts.value = all
}

/** The words of the page, and those of the messages of the server. */
async function fetchTexts(path: string): Promise<Texts> {
  const answer = await fetch(path)
  // A later version of the server has others. Where texts are shown already, its page is the way to them.
  if (answer.status === 404 && Object.keys(texts.value).length > 0) location.reload()
  if (!answer.ok) throw new Error(`the texts were answered with ${answer.status}`)
  return answer.json()
}

/** `count` chooses the form of the plural. Where it is a text, such as `at least 5`, `number` does. */
export type Values = Readonly<Record<string, string | number>> & { readonly number?: number }

/**
 * Returns a text of the chosen language: t(key, { count: 3 }). `{count}` stands for a value: a text is inserted as it is, a number as
 * people write it. With a `count`, the forms `key.one` and `key.other` are tried first.
 */
export function t(key: TextKey, values: Values = {}): string {
  const all = texts.value
  const form = values.count === undefined ? undefined : pluralOf(values.number ?? Number(values.count))
  const text = all[`${key}.${form}`] ?? all[`${key}.other`] ?? all[key] ?? key
  return text.replace(/\{(\w+)\}/g, (_, name: string) => shown(values[name]))
}

const shown = (value: string | number = '') => (typeof value === 'number' ? whole(value) : value)

function pluralOf(number: number): string {
  const rules = plurals[language.value] ?? new Intl.PluralRules(language.value)
  plurals[language.value] = rules
  return rules.select(number)
}

/** The text of a key or a code as it is; undefined for one that a newer server sent. */
export const textOf = (key: string): string | undefined => texts.value[key]

/** Whether there is a text, for codes that a newer server may send. */
export const hasText = (key: string): key is TextKey => textOf(key) !== undefined

/** The word for a name that the server sends, such as that of a check; the name itself if a newer server sends it. */
export const named = (group: string, name: string): string =>
  textOf(`${group}.${name}`) ?? textOf(`word.${name.replace(/Id$/, '')}`) ?? name
