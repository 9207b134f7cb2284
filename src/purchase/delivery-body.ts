import { isUtf8 } from 'node:buffer'
import type { Config } from '#src/config/load-config.ts'
import type { Problem } from '#src/lib/app-error.ts'
import { type Pointer, pointerPart } from '#src/lib/json/pointers.ts'
import { createScanner, type Found, MAX_DEPTH, type Scan, scanJson } from '#src/lib/json/scan.ts'
import { message } from '#src/lib/messages/message.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { fromByteText, isStorable, withoutMark } from '#src/lib/text.ts'
import { createSuggest } from './suggestion.ts'

export type DeliverySettings = Pick<Config, 'orderIdPointers' | 'orderId' | 'productPointers' | 'fieldCase'>

/** A delivery that is valid by itself. */
export interface ParsedDelivery {
  readonly status: number
  readonly orderId: string | null
  readonly products: readonly string[]
  /** Probable mistakes of the supplier: no order id, misspelled fields. */
  readonly warnings: readonly Problem[]
  readonly payload: Uint8Array
  readonly idempotencyKey: string | undefined
}

export type DeliveryReader = ReturnType<typeof createDeliveryReader>

export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/
/** Longer order ids and product codes would not fit into the indexes of the stores. */
export const MAX_ID_LENGTH = 200
const MAX_WARNINGS = 10
const NONE: readonly Problem[] = []

const STATUS = 0

interface FoundId {
  readonly pointer: number
  readonly id: string
}

export function createDeliveryReader(settings: DeliverySettings) {
  const { orderIdPointers, productPointers, fieldCase } = settings
  const entryPointers = productPointers.filter((pointer) => /\*\/[^*]+$/.test(pointer)).map(entryOf)
  const pointers: Pointer[] = [
    { pointer: '/Status', anyCase: fieldCase === 'any' },
    ...[...orderIdPointers, ...productPointers, ...new Set(entryPointers)].map((pointer) => ({
      pointer,
      anyCase: true,
    })),
  ]
  const firstProduct = 1 + orderIdPointers.length
  const firstEntry = firstProduct + productPointers.length
  const scan = createScanner(pointers, MAX_DEPTH)
  const suggestForOrder = createSuggest(orderIdPointers)
  const suggestForProduct = createSuggest(productPointers)
  const noOrder = { path: '', message: message('NO_ORDER_ID', { places: orderIdPointers }) }

  const findWarnings = ({ text, unknown }: Scan, lacksOrder: boolean, lacksProduct: boolean): readonly Problem[] => {
    const warnings = new Map<string, Problem>()
    if (lacksOrder) warnings.set('', noOrder)
    for (const { path, start, end } of unknown) {
      const field = fromByteText(text.slice(start, end))
      const meant =
        (lacksOrder ? suggestForOrder(path, field) : undefined) ??
        (lacksProduct ? suggestForProduct(path, field) : undefined)
      if (meant === undefined) continue
      const place = `${meant.slice(0, meant.lastIndexOf('/'))}/${pointerPart(field)}`
      warnings.set(place, { path: place, message: message('MISSPELLED', { field: meant }) })
      if (warnings.size === MAX_WARNINGS) break
    }
    return [...warnings.values()]
  }

  /** The first pointer that finds an id wins; of a repeated field the last value, as in JSON.parse. */
  const winsOver = (pointer: number, other: FoundId | undefined): boolean =>
    other === undefined || pointer <= other.pointer

  return {
    /** Finds the products in the payload of a stored delivery. */
    products(payload: Uint8Array) {
      const { text, found } = scan(withoutMark(payload))
      const places = found.filter(({ pointer }) => pointer >= firstProduct && pointer < firstEntry)
      return places.map((place) => readId(text, place)).filter((id) => id !== undefined)
    },
    /** Finds the order id in the body of a refused delivery; null also for a body that is not JSON. */
    orderIdIn(body: unknown) {
      if (!Buffer.isBuffer(body) || body.length === 0 || !isUtf8(body)) return null
      const { text, found, valid } = scan(withoutMark(body))
      let order: FoundId | undefined
      for (const place of valid ? found : []) {
        const { pointer } = place
        const id = pointer > STATUS && pointer < firstProduct ? readId(text, place) : undefined
        if (id !== undefined && winsOver(pointer, order)) order = { pointer, id }
      }
      return order === undefined || order.id.length > MAX_ID_LENGTH ? null : order.id
    },
    /** Throws what is wrong with the body or the idempotency key. `keyPath` is where the key was sent. */
    parse(body: unknown, idempotencyKey?: string, keyPath: string = 'headers/idempotency-key') {
      const scanned = scanJson(body, scan)
      const { text, found } = scanned
      if (!isObject(text)) throw invalidRequest([{ path: '', message: message('NOT_AN_OBJECT') }])
      const problems: Problem[] = []
      const products: string[] = []
      let order: FoundId | undefined
      let status: number | undefined
      let statuses = 0
      /** Whether any finished list entry named no product; an entry is finished when the next one begins. */
      let lacksProduct = false
      let entryLacksProduct = false
      for (const place of found) {
        const { pointer, start, end } = place
        if (pointer === STATUS) {
          statuses++
          status = end < 0 ? undefined : readStatus(text.slice(start, end))
          continue
        }
        if (pointer >= firstEntry) {
          lacksProduct ||= entryLacksProduct
          entryLacksProduct = end < 0
          continue
        }
        const id = readId(text, place)
        if (id === undefined) continue
        if (id.length > MAX_ID_LENGTH)
          problems.push({
            path: pointers[pointer]?.pointer ?? '',
            message: message('TOO_LONG', { max: MAX_ID_LENGTH }),
          })
        if (pointer >= firstProduct) {
          products.push(id)
          entryLacksProduct = false
        } else if (winsOver(pointer, order)) order = { pointer, id }
      }
      if (statuses > 1) problems.push({ path: '/Status', message: message('SENT_TWICE') })
      else if (statuses === 0) problems.push({ path: '/Status', message: message('REQUIRED') })
      else if (status === undefined) problems.push({ path: '/Status', message: message('NOT_A_STATUS') })
      lacksProduct ||= entryLacksProduct || products.length === 0
      const lacksOrder = order === undefined
      const warnings = lacksOrder || lacksProduct ? findWarnings(scanned, lacksOrder, lacksProduct) : NONE
      if (lacksOrder && settings.orderId === 'required') problems.push(...warnings)
      if (problems.length > 0 || status === undefined) throw invalidRequest(problems)
      if (idempotencyKey !== undefined && !IDEMPOTENCY_KEY.test(idempotencyKey))
        throw invalidRequest([{ path: keyPath, message: message('NOT_VISIBLE_ASCII') }])
      return { status, orderId: order?.id ?? null, products, warnings, payload: body as Buffer, idempotencyKey }
    },
  }
}

/** Cuts a pointer off after its last `*`: returns the pointer to the list entry. */
const entryOf = (pointer: string): string => pointer.slice(0, pointer.lastIndexOf('*') + 1)

/** Assumes valid JSON: looks at the first character only. */
const isObject = (json: string): boolean => json[0] === '{' || /^\s+\{/.test(json)

/** Returns a string or a number as it was written; nothing for an empty string or any other value. */
function readId(text: string, { start, end }: Found): string | undefined {
  if (end < 0) return undefined
  const first = text.charCodeAt(start)
  if (first === 0x22) {
    const raw = fromByteText(text.slice(start + 1, end - 1))
    return (raw.includes('\\') ? unescaped(raw) : raw) || undefined
  }
  return first === 0x2d || (first >= 0x30 && first <= 0x39) ? text.slice(start, end) : undefined
}

/** Decodes the text, but keeps the escapes of what a database cannot store: NUL and lone surrogates. */
function unescaped(raw: string): string {
  const id = JSON.parse(`"${raw}"`) as string
  return isStorable(id) ? id : raw
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/**
 * Returns the Status that a JSON token stands for: any spelling of a whole number from 0 to 3 (2, 2.0, 20e-1). Reads the text,
 * because JSON.parse would round 3.0000000000000000001 to 3.
 */
export function readStatus(token: string): number | undefined {
  if (token.length === 1) return token >= '0' && token <= '3' ? Number(token) : undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(token) ?? []
  if (sign === undefined) return undefined
  const digits = (whole + fraction).replace(/^0+/, '')
  if (digits === '') return 0
  const significant = digits.replace(/0+$/, '')
  const power = Number(exponent) - fraction.length + (digits.length - significant.length)
  const inRange = sign === '' && power === 0 && /^[123]$/.test(significant)
  return inRange ? Number(significant) : undefined
}
