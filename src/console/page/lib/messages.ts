import { bytes, dateTime, day, whole } from './format.ts'
import { textOf } from './texts.ts'

/** What stands between braces, as src/lib/messages describes it. */
const PLACE = /\{(\w+)(?::([^}]*))?\}/g

/** A message as an answer has it. */
interface Coded {
  readonly code: string
  readonly values?: object | undefined
}

/** Returns a message of the server in the chosen language, or `english` if a newer server sent one that has no words here. */
export function messageText({ code, values = {} }: Coded, english = code): string {
  const given: Readonly<Record<string, unknown>> = { ...values }
  const insert = (_: string, name: string, format = '') => shown(Object.hasOwn(given, name) ? given[name] : '', format)
  return textOf(code)?.replace(PLACE, insert) ?? english
}

function shown(value: unknown, format: string): string {
  if (Array.isArray(value)) return value.map((each) => shown(each, '')).join(format === 'list;' ? '; ' : ', ')
  if (isCoded(value)) return messageText(value)
  const plain = typeof value === 'number' ? value : String(value)
  const [one, several] = format.split('|')
  if (several !== undefined) return `${whole(Number(plain))} ${Number(plain) === 1 ? one : several}`
  if (format === 'size') return bytes(Number(plain))
  if (format === 'time') return dateTime(plain)
  return format === 'day' ? day(plain) : String(plain)
}

export const isCoded = (value: unknown): value is Coded =>
  typeof value === 'object' && value !== null && 'code' in value && typeof value.code === 'string'
