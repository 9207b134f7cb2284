/** Describes the values that a variable may hold. */
export interface Kind<Value> {
  readonly default: Value
  /** Says in words which values are allowed, for messages and docs/reference.md. */
  readonly allowed: string
  readonly choices?: readonly string[]
  /** The text of docs/reference.md. */
  readonly description: string
  /** Returns undefined for a text that is not allowed. */
  readonly read: (written: string) => Value | undefined
  /** Says what is wrong with a text that is not allowed, if it knows more than `allowed`. */
  readonly hint?: (written: string) => string | undefined
  /** Says what a value counts as, if that may surprise. */
  readonly note?: (written: string) => string | undefined
}

export interface Setting<Value = unknown> extends Kind<Value> {
  readonly variable: string
  /** Hides the secret part of a value in `teslim config`. */
  readonly mask?: (value: string) => string
}

export const setting = <Value>(
  variable: string,
  kind: Kind<Value>,
  mask?: (value: string) => string,
): Setting<Value> => ({
  variable,
  ...kind,
  ...(mask && { mask }),
})

/** The first value is the default. */
export const choice = <Values extends [string, ...string[]]>(
  choices: [...Values],
  description: string,
): Kind<Values[number]> => ({
  default: choices[0],
  allowed: `one of ${choices.join(', ')}`,
  choices,
  description,
  read: (written) => choices.find((value) => value === written),
})

export const text = (fallback: string, pattern: RegExp, allowed: string, description: string): Kind<string> => ({
  default: fallback,
  allowed,
  description,
  read: (written) => (pattern.test(written) ? written : undefined),
})

export const itemsOf = (written: string): string[] => written.split(',').map((item) => item.trim())

export const list = (
  fallback: string[],
  pattern: RegExp,
  allowed: string,
  description: string,
): Kind<readonly string[]> => ({
  default: fallback,
  allowed,
  description,
  read: (written) => {
    const items = itemsOf(written)
    return items.every((item) => pattern.test(item)) ? items : undefined
  },
})

export const whole = (fallback: number, min: number, max: number, description: string): Kind<number> => ({
  default: fallback,
  allowed: `a whole number from ${min} to ${max}`,
  description,
  read: (written) => {
    const value = /^-?\d{1,15}$/.test(written) ? Number(written) : Number.NaN
    return value >= min && value <= max ? value : undefined
  },
})

export const POINTER = /^(?:\/[^/,]+)+$/
export const allowedPointers = (example: string): string => `JSON Pointers separated by commas, such as ${example}`

/**
 * Hides passwords in a URL, in the parameters and before the host. Whatever comes between the first colon and the last @ counts as
 * one: an unescaped `/`, `?`, `#` or `@` in a password must not end what is hidden.
 */
export const maskUrlPassword = (url: string): string => maskParameters(url).replace(/(:\/\/[^:@]*:).*@/s, '$1***@')

const maskParameters = (url: string): string =>
  url.replace(/([?&])([^=&]*)=[^&]*/g, (whole, sign, name) => (namesPassword(name) ? `${sign}${name}=***` : whole))

/** Hosts with ports, and an @ in a parameter only: the colon begins no password. */
const NO_USER = /^[a-z]+:\/\/[^:@/?#]*(?::\d+)?(?:,[^:@/?#]*(?::\d+)?)*(?:\/[^@?#]*)?\?/i

/** Returns a URL without its passwords, for a command line. */
export const withoutUrlPassword = (url: string): string =>
  maskParameters(NO_USER.test(url) ? url : maskUrlPassword(url))
    .replace(':***@', '@')
    .replace(/(?<=[?&])[^=&]*=\*\*\*(?:&|$)/g, '')
    .replace(/[?&]$/, '')

/** Names may be escaped: `p%61ssword`. */
const namesPassword = (name: string): boolean =>
  /password/i.test(new URLSearchParams(`${name}=`).keys().next().value ?? '')

export const maskAll = (value: string): string => (value === '' ? '' : '***')

export const secret = (description: string) => text('', /^.{16,}$/s, 'at least 16 characters', description)

export const file = (description: string) => text('', /./, 'the path of a file', description)
