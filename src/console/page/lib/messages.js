import { bytes, dateTime, day, whole } from './format.js'
import { hasText, t, textOf } from './texts.js'

/** What stands between braces, as src/lib/messages describes it. */
const PLACE = /\{(\w+)(?::([^}]*))?\}/g
const MAX_LISTED = 5

/** Returns a message of the server in the chosen language, or `english` if a newer server sent one that has no words here. */
export function messageText({ code, values }, english = code) {
  if (!hasText(code)) return english
  return textOf(code).replace(PLACE, (_, name, format = '') => shown(values[name] ?? '', format))
}

function shown(value, format) {
  if (Array.isArray(value)) return listed(value)
  if (typeof value === 'object') return messageText(value)
  const [one, several] = format.split('|')
  if (several !== undefined) return `${whole(value)} ${value === 1 ? one : several}`
  const show = FORMATS[format] ?? String
  return show(value)
}

const FORMATS = { time: dateTime, day, size: bytes }

function listed(all) {
  const shownOnes = all.slice(0, MAX_LISTED).map((each) => shown(each, ''))
  const more = all.length - MAX_LISTED
  const parts = more > 0 ? [...shownOnes, t('list.more', { count: more })] : shownOnes
  return parts.join(all.some((each) => typeof each === 'object') ? '; ' : ', ')
}
