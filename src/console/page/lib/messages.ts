import { bytes, dateTime, day, whole } from './format.ts'
import { hasText, textOf } from './texts.ts'

/** What stands between braces, as src/lib/messages describes it. */
const PLACE = /\{(\w+)(?::([^}]*))?\}/g

/** Returns a message of the server in the chosen language, or `english` if a newer server sent one that has no words here. */
export function messageText({ code, values }, english = code) {
  if (!hasText(code)) return english
  return textOf(code).replace(PLACE, (_, name, format = '') =>
    shown(Object.hasOwn(values, name) ? values[name] : '', format),
  )
}

function shown(value, format) {
  if (Array.isArray(value)) return value.map((each) => shown(each, '')).join(format === 'list;' ? '; ' : ', ')
  if (typeof value === 'object') return messageText(value)
  const [one, several] = format.split('|')
  if (several !== undefined) return `${whole(value)} ${value === 1 ? one : several}`
  const show = FORMATS[format] ?? String
  return show(value)
}

const FORMATS = { time: dateTime, day, size: bytes }
