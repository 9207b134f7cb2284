/**
 * A list or map that JSON writes within this column stands on one line; longer lists of names, and examples of refusals, take several to a
 * line. Longer texts are continued on the next line.
 */
const LINE_WIDTH = 122

/** Writes a map or list of JSON values as YAML that versions 1.1 and 1.2 read as the same value. */
export const toYaml = (value: object): string => `${after(value, '').trimStart()}\n`

/** What stands after the start of an entry: its name and a colon, or a dash. `indent` is that of further lines. */
function after(value: unknown, indent: string, name?: string): string {
  if (typeof value === 'string') return ` ${longText(value, indent)}`
  if (typeof value !== 'object' || value === null) return ` ${JSON.stringify(value)}`
  const used = name?.length ?? 0
  if (roomAfter(value, LINE_WIDTH - indent.length - used) >= 0) return ` ${flow(value)}`
  if (isList(value) ? value.every(isName) : name === 'value' && Object.values(value).every(isOnOneLine))
    return ` ${filled(flowParts(value), indent, indent.length + used)}`
  const lines = isList(value)
    ? value.map((item) => `-${after(item, `${indent}  `)}`)
    : Object.entries(value).map(([key, item]) => `${plainOrQuoted(key, false)}:${after(item, `${indent}  `, key)}`)
  return (name === undefined ? ' ' : `\n${indent}`) + lines.join(`\n${indent}`)
}

const isList = Array.isArray as (value: object) => value is unknown[]
const isName = (item: unknown): boolean => typeof item === 'string' && /^[\w-]+$/.test(item)
const isOnOneLine = (item: unknown): boolean =>
  typeof item === 'string' ? !item.includes('\n') : typeof item !== 'object' || item === null

/** Returns how much of a line a value leaves free: a negative number if it does not fit, or has a text of several lines. */
function roomAfter(value: unknown, room: number): number {
  if (typeof value === 'string') return value.includes('\n') ? -1 : room - value.length - 2
  if (typeof value !== 'object' || value === null) return room - String(value).length
  let left = room - 1
  for (const [name, item] of Object.entries(value)) {
    left = roomAfter(item, isList(value) ? left : left - name.length - 3) - 1
    if (left < 0) return left
  }
  return left
}

function flow(value: unknown): string {
  if (typeof value === 'string') return plainOrQuoted(value, true)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return Object.keys(value).length === 0 ? JSON.stringify(value) : flowParts(value).join(' ')
}

/** The brackets and entries of a list or map. */
function flowParts(value: object): string[] {
  const entries = Object.entries(value)
  const parts = entries.map(([name, item], index) => {
    const comma = index + 1 < entries.length ? ',' : ''
    return (isList(value) ? flow(item) : `${plainOrQuoted(name, true)}: ${flow(item)}`) + comma
  })
  return isList(value) ? ['[', ...parts, ']'] : ['{', ...parts, '}']
}

/** A text of several lines is a literal block, with the sign for the newlines at its end. */
function longText(text: string, indent: string): string {
  if (!/^[\x21-\x7e][\x20-\x7e]*\n[\n\x20-\x7e]*$/.test(text))
    return filled(plainOrQuoted(text, false).split(/(?<=\S) (?=\S)/), indent, indent.length)
  const sign = text.endsWith('\n\n') ? '|+' : text.endsWith('\n') ? '|' : '|-'
  const lines = text.replace(/\n$/, '').split('\n')
  return [sign, ...lines.map((line) => line && indent + line)].join('\n')
}

/** Puts words into as few lines as they need. */
function filled(words: readonly string[], indent: string, column: number): string {
  const lines: string[] = []
  let line = ''
  for (const word of words) {
    const start = lines.length === 0 ? column : indent.length
    if (line !== '' && start + line.length + 1 + word.length > LINE_WIDTH) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line].join(`\n${indent}`)
}

/** Texts that are something else to a reader of YAML 1.1 or 1.2: booleans, null, merge keys, numbers, times. */
const NOT_TEXT =
  /^(?:y|yes|n|no|true|false|on|off|null|~|=|<<|[-+]?\.(?:inf|nan)|[-+]?(?:\d[\d_,]*)?(?:\.[\d_]*)?(?:e[-+]?\d+)?|[-+]?\d[\d_]*(?::\d+)+(?:\.[\d_]*)?|[-+]?0[xob][\da-f_]*|\d{4}-\d\d?-\d\d?.*)$/i
const PLAIN = /^(?![-?:]( |$)|[-?:,[\]{}#&*!|>'"%@` ]|\.{3}|-{3})[\x20-\x7e]+(?<![ :])$/

function plainOrQuoted(text: string, isInFlow: boolean): string {
  const isPlain =
    PLAIN.test(text) && !NOT_TEXT.test(text) && !/: | #/.test(text) && !(isInFlow && /[,[\]{}]/.test(text))
  return isPlain ? text : quoted(text)
}

/** JSON, without the characters that YAML does not allow unescaped. */
const quoted = (text: string): string =>
  JSON.stringify(text).replaceAll(
    /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
