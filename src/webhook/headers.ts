import { AppError } from '#src/lib/app-error.ts'
import { webhookErrors } from './webhook.errors.ts'

/** A header of an endpoint's own; a value of null removes it. */
export type NamedHeader = readonly [name: string, value: string | null]

const MAX_HEADERS = 8
const MAX_NAME = 128
const MAX_VALUE = 4096

/** As RFC 9110 defines them. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** Printable ASCII, with spaces only inside. */
const VALUE = /^[!-~](?:[ -~]*[!-~])?$/

/** What teslim sets, what proxies use, and what concerns the connection or the form of body and answer. */
const TAKEN_PREFIXES = ['webhook-', 'content-', 'proxy-']
const TAKEN = [
  'accept-encoding',
  'connection',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
]

/** Refuses what cannot be a header of an endpoint's own. No message has a value. */
export function checkHeaders(headers: readonly NamedHeader[]): void {
  const seen = new Set<string>()
  for (const [name, value] of headers) {
    checkName(name)
    const key = name.toLowerCase()
    if (seen.has(key)) refuse(`The header "${name}" is named twice.`)
    seen.add(key)
    if (value !== null && (value.length > MAX_VALUE || !VALUE.test(value)))
      refuse(
        `The value of the header "${name}" must be 1 to ${MAX_VALUE} printable ASCII characters, without a space at either end.`,
      )
  }
}

function checkName(name: string): void {
  if (name.length > MAX_NAME || !TOKEN.test(name))
    refuse(`The name of a header is 1 to ${MAX_NAME} letters, digits and characters of !#$%&'*+-.^_\`|~.`)
  const key = name.toLowerCase()
  if (TAKEN.includes(key) || TAKEN_PREFIXES.some((prefix) => key.startsWith(prefix)))
    refuse(
      `The header "${name}" cannot be set: ${TAKEN.join(', ')} and all that begin with ${TAKEN_PREFIXES.join(', ')} belong to teslim, to HTTP or to proxies.`,
    )
}

function refuse(message: string): never {
  throw new AppError(webhookErrors.headerInvalid, { message })
}

/** The sealed values by name, as the store has them. */
export const readHeaders = (stored: string | null): [name: string, sealed: string][] =>
  stored === null ? [] : Object.entries(JSON.parse(stored))

export const headerNames = (stored: string | null): string[] => readHeaders(stored).map(([name]) => name)

export const storedHeaders = (headers: readonly (readonly [name: string, sealed: string])[]): string | null =>
  headers.length === 0 ? null : JSON.stringify(Object.fromEntries(headers))

/** Names are the same in any letter case. */
export function changedHeaders(stored: string | null, sealed: readonly NamedHeader[]): string | null {
  const named = new Set(sealed.map(([name]) => name.toLowerCase()))
  const kept = readHeaders(stored).filter(([name]) => !named.has(name.toLowerCase()))
  const set = sealed.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]))
  if (kept.length + set.length > MAX_HEADERS) refuse(`An endpoint has at most ${MAX_HEADERS} headers of its own.`)
  return storedHeaders([...kept, ...set])
}
