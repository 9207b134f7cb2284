/** Before what a spreadsheet takes for a formula, at the beginning of a cell or of what a reader with another separator takes for one. */
const BEFORE_FORMULA = /(?<=^|[;,\t\r\n])(?="*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])/g

/** Puts an apostrophe where a spreadsheet would run a text. */
const harmless = (text: string): string => text.replace(BEFORE_FORMULA, "'")

function cellOf(value: unknown): string {
  if (value === undefined || value === null) return '""'
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return `"${(typeof value === 'number' ? text : harmless(text)).replaceAll('"', '""')}"`
}

/** Makes a line of CSV (RFC 4180): lists and objects are JSON, and what is missing is empty. */
export const csvLine = (values: readonly unknown[]): string => `${values.map(cellOf).join()}\r\n`

/** Tells a spreadsheet the separator: in many languages it would expect another one. */
export const CSV_SEPARATOR = 'sep=,\r\n'

/** Line breaks that JSON may contain as they are. */
const BREAKS_OF_OTHERS = /[\u0085\u2028\u2029]/g

/** Makes a line of NDJSON of JSON: no reader takes a part of it for a line. Those of its line breaks that stand between values become spaces. */
export const ndjsonLine = (json: string): string =>
  `${json
    .replace(/[\r\n]/g, ' ')
    .replace(BREAKS_OF_OTHERS, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`
