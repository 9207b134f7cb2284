import type { Config } from '#src/config/load-config.ts'
import type { Problem } from '#src/lib/app-error.ts'
import { fromByteText, withoutMark } from '#src/lib/byte-text.ts'
import { type Pointer, pointerPart } from '#src/lib/json/pointers.ts'
import { createScanner, DEEPEST, type Found, type Scan, type Scanner } from '#src/lib/json/scan.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { createMeantFor } from './spelling.ts'
import { readStatus } from './status.ts'

export type DeliverySettings = Pick<Config, 'orderIdPointers' | 'orderId' | 'productPointers' | 'fieldCase'>

export interface DeliveryFacts {
  readonly status: number
  readonly orderId: string | null
  readonly products: readonly string[]
  /** Probable mistakes of the supplier: no order id, misspelled fields. */
  readonly oddities: readonly Problem[]
}

export interface DeliveryReader {
  readonly scan: Scanner
  /** Reads a body that is valid JSON; throws INVALID_REQUEST if it is no delivery. */
  facts(scan: Scan): DeliveryFacts
  /** Finds the products in the payload of a stored delivery. */
  products(payload: Uint8Array): string[]
}

/** Longer order ids and product codes would not fit into the indexes of the stores. */
export const LONGEST_ID = 200
const MAX_ODDITIES = 10
const NONE: readonly Problem[] = []

const STATUS = 0

export function createDeliveryReader(settings: DeliverySettings): DeliveryReader {
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
  const scan = createScanner(pointers, DEEPEST)
  const orderMeantBy = createMeantFor(orderIdPointers)
  const productMeantBy = createMeantFor(productPointers)
  const noOrder = { path: '', message: `holds no order id at ${orderIdPointers.join(', ')}` }

  const findOddities = ({ text, unknown }: Scan, lacksOrder: boolean, lacksProduct: boolean): readonly Problem[] => {
    const oddities = new Map<string, Problem>()
    if (lacksOrder) oddities.set('', noOrder)
    for (const { path, start, end } of unknown) {
      const field = fromByteText(text.slice(start, end))
      const meant =
        (lacksOrder ? orderMeantBy(path, field) : undefined) ?? (lacksProduct ? productMeantBy(path, field) : undefined)
      if (meant === undefined) continue
      const place = `${meant.slice(0, meant.lastIndexOf('/'))}/${pointerPart(field)}`
      oddities.set(place, { path: place, message: `was ignored: it looks like a misspelled ${meant}` })
      if (oddities.size === MAX_ODDITIES) break
    }
    return [...oddities.values()]
  }

  return {
    scan,
    products(payload) {
      const { text, found } = scan(withoutMark(payload))
      const places = found.filter(({ pointer }) => pointer >= firstProduct && pointer < firstEntry)
      return places.map((place) => readId(text, place)).filter((id) => id !== undefined)
    },
    facts(scan) {
      const { text, found } = scan
      if (!isObject(text)) throw invalidRequest([{ path: '', message: 'must be a JSON object' }])
      const problems: Problem[] = []
      const products: string[] = []
      let order: { readonly pointer: number; readonly id: string } | undefined
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
        if (id.length > LONGEST_ID)
          problems.push({ path: pointers[pointer]?.pointer ?? '', message: `is longer than ${LONGEST_ID} characters` })
        if (pointer >= firstProduct) {
          products.push(id)
          entryLacksProduct = false
        }
        // The first pointer that finds an id wins; of a repeated field the last value, as in JSON.parse.
        else if (order === undefined || pointer <= order.pointer) order = { pointer, id }
      }
      if (statuses > 1) problems.push({ path: '/Status', message: 'is sent more than once' })
      else if (statuses === 0) problems.push({ path: '/Status', message: 'is required' })
      else if (status === undefined) problems.push({ path: '/Status', message: 'must be a whole number from 0 to 3' })
      lacksProduct ||= entryLacksProduct || products.length === 0
      const lacksOrder = order === undefined
      const oddities = lacksOrder || lacksProduct ? findOddities(scan, lacksOrder, lacksProduct) : NONE
      if (lacksOrder && settings.orderId === 'required') problems.push(...oddities)
      if (problems.length > 0 || status === undefined) throw invalidRequest(problems)
      return { status, orderId: order?.id ?? null, products, oddities }
    },
  }
}

/** Cuts a pointer off after its last `*`: returns the pointer to the list entry. */
const entryOf = (pointer: string): string => pointer.slice(0, pointer.lastIndexOf('*') + 1)

/** Assumes valid JSON: looks at the first character only. */
const isObject = (json: string): boolean => json[0] === '{' || /^\s+\{/.test(json)

/** Returns a string or a number as it was written; nothing for an empty string or any other value. */
export function readId(text: string, { start, end }: Found): string | undefined {
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
  return id.isWellFormed() && !id.includes('\0') ? id : raw
}
