import { StringDecoder } from 'node:string_decoder'
import { type Answer, KEPT_BYTES } from './exchange.ts'
import { failureText } from './failure-text.ts'
import { withoutSecrets } from './without-secrets.ts'

export interface Outcome {
  /** Null if no complete answer came. */
  readonly status: number | null
  /** What went wrong, in plain words; null for a success. */
  readonly error: string | null
  readonly retryAfterMilliseconds: number | null
  /** The endpoint answered 410: it wants no more deliveries. */
  readonly gone: boolean
  readonly milliseconds: number
  /** The first KiB of the answer's body, without secrets; null if there is none. */
  readonly response: string | null
}

const REDIRECTS = [301, 302, 303, 307, 308]

/** `secrets` are values that the receiver got, and that must not be kept if it shows them. */
export function outcomeOf(
  result: Answer | Error,
  host: string,
  now: number,
  milliseconds: number,
  secrets: readonly string[],
): Outcome {
  if (result instanceof Error) return failedOutcome(failureText(result, host), milliseconds)
  const { status, headers, body } = result
  const isSuccess = status >= 200 && status <= 299
  return {
    status,
    error: isSuccess ? null : `status ${status}${REDIRECTS.includes(status) ? ', redirects are not followed' : ''}`,
    retryAfterMilliseconds: isSuccess ? null : readRetryAfter(headers['retry-after'], now),
    gone: status === 410,
    milliseconds,
    // Made when it is read: most answers confirm a delivery, and nobody keeps those.
    get response() {
      return body && visibleText(withoutSecrets(body, secrets), body.length >= KEPT_BYTES)
    },
  }
}

export const failedOutcome = (error: string, milliseconds: number): Outcome => ({
  status: null,
  error,
  retryAfterMilliseconds: null,
  gone: false,
  milliseconds,
  response: null,
})

function readRetryAfter(value: string | readonly string[] | undefined, now: number): number | null {
  const text = (typeof value === 'string' ? value : value?.[0])?.trim() ?? ''
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1000
  // The three forms of a date in HTTP; Date.parse alone takes far more.
  const isDate = /^[A-Z][a-z]{2,8},? [\w :-]{10,24}(?: GMT)?$/.test(text)
  const time = isDate ? Date.parse(/GMT$/.test(text) ? text : `${text} GMT`) : Number.NaN
  return Number.isNaN(time) ? null : Math.max(0, time - now)
}

const wholeCharacters = (bytes: Buffer): string => new StringDecoder('utf8').write(bytes)

/** Shows control characters by their pictures (U+2400 and following), and all others that are not printable by U+FFFD. */
const visibleText = (bytes: Buffer, isCut: boolean): string =>
  (isCut ? wholeCharacters(bytes) : bytes.toString()).replace(/\p{C}/gu, pictureOf)

function pictureOf(character: string): string {
  const code = character.charCodeAt(0)
  if (code === 0x7f) return '\u2421'
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\ufffd'
}
