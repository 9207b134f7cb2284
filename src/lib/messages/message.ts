import { counted, listed } from '../printable.ts'
import { english } from './en.ts'

/** A text by its code, and the values in it. It is stored and sent like this, so that each reader gets it in another language. */
export interface Message {
  readonly code: string
  readonly values: Values
}

export type Values = Readonly<Record<string, Value>>
/** A text that no catalogue has, such as the name of a file, stands for itself. */
export type Value = number | string | Message | readonly (string | Message)[]

type English = typeof english
export type Code = keyof English

/** What stands between braces in a text: `count`, or `count:hour|hours`. */
type Places<Text> = Text extends `${string}{${infer Place}}${infer Rest}` ? Place | Places<Rest> : never
type NameIn<Place> = Place extends `${infer Name}:${string}` ? Name : Place
type ValueIn<Place> = Place extends `${string}:${string}|${string}` | `${string}:size`
  ? number
  : Place extends `${string}:list`
    ? readonly (string | Message)[]
    : Place extends `${string}:${'time' | 'day'}`
      ? string
      : string | number | Message
type ValuesIn<Text> = { readonly [Place in Places<Text> as NameIn<Place> & string]: ValueIn<Place> }

/** The values that a text needs; none if it names none. */
export type ValuesOf<C extends Code> = Places<English[C]> extends never ? [] : [ValuesIn<English[C]>]

export const message = <C extends Code>(code: C, ...[values]: ValuesOf<C>): Message => ({ code, values: values ?? {} })

const PLACE = /\{(\w+)(?::([^}]*))?\}/g

/** Returns a message in English. A message of a newer version is shown by its code. */
export const textOf = ({ code, values }: Message): string =>
  ((english as Record<string, string>)[code] ?? code).replace(PLACE, (_, name: string, format = '') =>
    shown(values[name] ?? '', format),
  )

function shown(value: Value, format: string): string {
  if (Array.isArray(value)) {
    const separator = value.some((each) => typeof each === 'object') ? '; ' : ', '
    return listed(
      value.map((each: string | Message) => shown(each, '')),
      5,
      separator,
    )
  }
  if (typeof value === 'object') return textOf(value as Message)
  const [one, several] = format.split('|')
  if (several !== undefined) return counted(Number(value), one as string, several)
  if (format === 'time') return `${String(value).slice(0, 19).replace('T', ' ')} UTC`
  if (format === 'day') return String(value).slice(0, 10)
  return format === 'size' ? mebibytes(Number(value)) : String(value)
}

const MIB = 1024 * 1024

/** Small sizes with one digit after the point. */
const mebibytes = (bytes: number): string => {
  const digits = bytes < 100 * MIB ? 1 : 0
  return `${(bytes / MIB).toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })} MiB`
}
