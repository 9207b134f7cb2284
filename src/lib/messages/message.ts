import { counted } from '../printable.ts'
import { english } from './en.ts'

/** A text by its code, and the values in it. It is stored and sent like this, so that each reader gets it in another language. */
export interface Message {
  readonly code: string
  readonly values: Values
}

export type Values = Readonly<Record<string, Value>>
export type Value = number | Text | readonly Text[]
/** A text that no catalogue has, such as the name of a file, stands for itself. */
export type Text = string | Message

type English = typeof english
export type Code = keyof English

/** What stands between braces in a text: `count`, or `count:hour|hours`. */
type Places<T> = T extends `${string}{${infer Place}}${infer Rest}` ? Place | Places<Rest> : never
type NameIn<Place> = Place extends `${infer Name}:${string}` ? Name : Place
type ValueIn<Place> = Place extends `${string}:${string}|${string}` | `${string}:size`
  ? number
  : Place extends `${string}:list${string}`
    ? readonly Text[]
    : Place extends `${string}:${'time' | 'day'}`
      ? string
      : number | Text
type ValuesIn<T> = { readonly [Place in Places<T> as NameIn<Place> & string]: ValueIn<Place> }

/** The values that a message needs; none if its text has no places. */
export type ValuesOf<C extends Code> = Places<English[C]> extends never ? [] : [ValuesIn<English[C]>]
/** The codes of messages without values. */
export type PlainCode = { [C in Code]: Places<English[C]> extends never ? C : never }[Code]

export const message = <C extends Code>(code: C, ...[values]: ValuesOf<C>): Message => ({ code, values: values ?? {} })

export const isMessage = (value: unknown): value is Message =>
  isObject(value) && typeof value.code === 'string' && isObject(value.values)

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** The first of many, and how many more there are. */
export const few = <Item extends Text>(all: readonly Item[], max = 5): readonly Text[] =>
  all.length > max ? [...all.slice(0, max), message('MORE', { count: all.length - max })] : all

/** A text in an answer: in English, and as a message if it is one. */
export const messageAnswer = (text: Text) => ({
  Message: textOf(text),
  ...(typeof text !== 'string' && { MessageCode: text.code, MessageValues: text.values }),
})

/** A message whose text in English is not longer; else the beginning of the text. */
export function bounded(text: Text, max: number): Text {
  const english = textOf(text)
  return english.length <= max ? text : english.slice(0, max)
}

const PLACE = /\{(\w+)(?::([^}]*))?\}/g

/** Returns a text in English. A message of a newer version is shown by its code. `timeText` shows times, for a reader with a zone. */
export function textOf(text: Text, timeText = utcText): string {
  if (typeof text === 'string') return text
  const { code, values } = text
  if (!Object.hasOwn(english, code)) return code
  const words: string = english[code as Code]
  return words.replace(PLACE, (_, name: string, format = '') =>
    shown(Object.hasOwn(values, name) ? (values[name] as Value) : '', format, timeText),
  )
}

const utcText = (time: string): string => `${time.slice(0, 19).replace('T', ' ')} UTC`

function shown(value: Value, format: string, timeText: typeof utcText): string {
  if (Array.isArray(value)) return value.map((each) => textOf(each, timeText)).join(format === 'list;' ? '; ' : ', ')
  if (typeof value === 'object') return textOf(value as Message, timeText)
  const plain: string | number = value
  const [one, several] = format.split('|')
  if (several !== undefined) return counted(Number(plain), one as string, several)
  if (format === 'time') return timeText(String(plain))
  if (format === 'day') return timeText(String(plain)).slice(0, 10)
  return format === 'size' ? mebibytes(Number(plain)) : String(plain)
}

const MIB = 1024 * 1024

/** Small sizes with one digit after the point. */
const mebibytes = (bytes: number): string => {
  const digits = bytes < 100 * MIB ? 1 : 0
  return `${(bytes / MIB).toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })} MiB`
}
