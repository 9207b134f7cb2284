import { isUtf8 } from 'node:buffer'
import { AppError } from '../app-error.ts'
import { requestErrors } from '../request/request.errors.ts'
import { fromByteText, withoutMark } from '../text.ts'
import { MAX_DEPTH, type Scan, type Scanner } from './scan.ts'

/** Checks that bytes are JSON, without building a value. Skips a byte order mark. */
export function scanJson(bytes: unknown, scanner: Scanner): Scan {
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) throw new AppError(requestErrors.bodyMissing)
  if (!isUtf8(bytes)) throw new AppError(requestErrors.bodyNotUtf8)
  const scan = scanner(withoutMark(bytes))
  const { text, depth, valid } = scan
  if (depth > MAX_DEPTH) throw new AppError(requestErrors.bodyTooDeep)
  // The message of JSON.parse would quote the body, which may hold a password.
  if (!valid) throw notJson(text)
  if (mayNamePrototype(text)) refuseForbiddenKeys(parse(text))
  return scan
}

/** Checks that bytes are JSON, and parses them. */
export function readJson(bytes: unknown, scanner: Scanner): { readonly scan: Scan; readonly value: unknown } {
  const scan = scanJson(bytes, scanner)
  return { scan, value: parse(scan.text) }
}

const parse = (text: string): unknown => JSON.parse(fromByteText(text))

/** Matches form data, which `curl -d` and PHP send by default: `Status=1&OrderID=...`, or multipart. */
const FORM = /^\s*(?:[\w.~%+*[\]-]{1,200}=|--[^\r\n]{1,200}\r?\nContent-Disposition:)/i

const notJson = (text: string): AppError =>
  FORM.test(text)
    ? new AppError(requestErrors.bodyNotJson, {
        message: 'The body looks like form data, not like JSON: send a JSON object, such as {"Status":1}.',
        reason: 'form data',
      })
    : new AppError(requestErrors.bodyNotJson)

/** Escapes of the characters that `__proto__` and `constructor` consist of. */
const ESCAPED_LETTER = /\\u00[567]/

const mayNamePrototype = (json: string): boolean =>
  json.includes('__proto__') || json.includes('constructor') || (json.includes('\\u00') && ESCAPED_LETTER.test(json))

/** Recursion is safe: the depth was checked before. */
function refuseForbiddenKeys(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    const reachesPrototype =
      key === 'constructor' && typeof inner === 'object' && inner && Object.hasOwn(inner, 'prototype')
    if (key === '__proto__' || reachesPrototype) throw new AppError(requestErrors.forbiddenKey)
    refuseForbiddenKeys(inner)
  }
}
