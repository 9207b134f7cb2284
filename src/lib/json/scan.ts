import { isUtf8 } from 'node:buffer'
import { AppError } from '../app-error.ts'
import { requestErrors } from '../request/request.errors.ts'
import { fromByteText, withoutMark } from '../text.ts'
import { childOf, type Pointer, type PointerNode, pointerTree } from './pointers.ts'
import { endOfLiteral, endOfString, lastQuoteIn, NOT_ONE } from './tokens.ts'

/** How deep arrays and objects may be nested in a request. */
export const MAX_DEPTH = 64

/** A value found at a pointer. `end` is exclusive, and -1 for an array or object. */
export interface Found {
  readonly pointer: number
  readonly start: number
  readonly end: number
}

/** An unknown field in an object that a pointer ends at or passes through. `path` is the path of that object, in lower case. */
interface UnknownField {
  readonly path: string
  /** The name without its quotes lies from here to `end`, exclusive. */
  readonly start: number
  readonly end: number
}

const MAX_UNKNOWN = 200

export interface Scan {
  /** The bytes as byte text. */
  readonly text: string
  /** Whether JSON.parse would accept the text. False where the text is too deep, as the rest is not read then. */
  readonly valid: boolean
  /** The depth of nesting; counting stops at one too many. */
  readonly depth: number
  /** In the order of the text. Contains repeated fields, which JSON.parse would hide. */
  readonly found: readonly Found[]
  /** The first 200 unknown fields. */
  readonly unknown: readonly UnknownField[]
}

/** Validates JSON and finds values in it in one pass, without building a value. */
export type Scanner = (bytes: Buffer) => Scan

export function createScanner(pointers: readonly Pointer[], deepest: number): Scanner {
  const root = pointerTree(pointers)
  return (bytes) => scan(bytes, root, deepest)
}

/** Flags for what may come next. */
const VALUE = 1
const NAME = 2
const COLON = 4
const COMMA = 8
const CLOSE = 16
const NOTHING = 0

function scan(bytes: Buffer, root: PointerNode, limit: number): Scan {
  const text = bytes.toString('latin1')
  const { length } = bytes
  const lastQuote = lastQuoteIn(bytes)
  const found: Found[] = []
  const unknown: UnknownField[] = []
  const escaped = text.includes('\\')
  const containers: (PointerNode | undefined)[] = []
  const objects: boolean[] = []
  let depth = 0
  let deepest = 0
  let container: PointerNode | undefined
  let inObject = false
  let expected = VALUE
  /** The node for the next value. */
  let place: PointerNode | undefined = root

  const capture = (start: number, end: number): void => {
    if (place !== undefined) for (const pointer of place.pointers) found.push({ pointer, start, end })
    place = undefined
  }
  const afterValue = (): number => (depth === 0 ? NOTHING : COMMA | CLOSE)

  let i = 0
  while (i < length) {
    const code = bytes[i] as number
    if (code === 0x22) {
      // "
      const end = endOfString(bytes, i, lastQuote)
      if (end === NOT_ONE) break
      if (expected & NAME) {
        place = container && childOf(container, text, i + 1, end - 1, escaped)
        if (container && place === undefined && unknown.length < MAX_UNKNOWN)
          unknown.push({ path: container.path, start: i + 1, end: end - 1 })
        expected = COLON
      } else if (expected & VALUE) {
        capture(i, end)
        expected = afterValue()
      } else break
      i = end
      continue
    }
    if (code === 0x2c) {
      // ,
      if ((expected & COMMA) === 0) break
      place = inObject ? undefined : container?.star
      expected = inObject ? NAME : VALUE
    } else if (code === 0x3a) {
      // :
      if ((expected & COLON) === 0) break
      expected = VALUE
    } else if (code === 0x7b || code === 0x5b) {
      // { or [
      if ((expected & VALUE) === 0) break
      containers[depth] = container
      objects[depth] = inObject
      container = place
      capture(i, -1)
      inObject = code === 0x7b
      if (!inObject) place = container?.star
      if (++depth > deepest) deepest = depth
      if (depth > limit) break
      expected = (inObject ? NAME : VALUE) | CLOSE
    } else if (code === 0x7d || code === 0x5d) {
      // } or ]
      if ((expected & CLOSE) === 0 || inObject !== (code === 0x7d)) break
      depth--
      container = containers[depth]
      inObject = objects[depth] ?? false
      place = undefined
      expected = afterValue()
    } else if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) {
      const end = endOfLiteral(bytes, i)
      if (end === NOT_ONE || (expected & VALUE) === 0) break
      capture(i, end)
      expected = afterValue()
      i = end
      continue
    }
    i++
  }
  return { text, valid: i === length && expected === NOTHING, depth: deepest, found, unknown }
}

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
