import type { Problem } from '#src/lib/app-error.ts'
import { fromByteText, withoutMark } from '#src/lib/byte-text.ts'
import type { Pointer } from '#src/lib/json/pointers.ts'
import { createScanner, type Found, type Scan, type Scanner } from '#src/lib/json/scan.ts'
import { readStatus } from '../status.ts'

export interface DeliveryPointers {
  readonly orderId: readonly string[]
  readonly product: readonly string[]
  /** Whether `Status` may be spelled in any letter case, as the others always may. */
  readonly statusAnyCase: boolean
}

/** What a delivery says of itself, or what is wrong with it. */
export type DeliveryFacts =
  | { readonly problems: readonly Problem[] }
  | { readonly status: number; readonly orderId: string | null; readonly products: readonly string[] }

export interface DeliveryReader {
  readonly scan: Scanner
  /** Of an object. */
  facts(scan: Scan): DeliveryFacts
  /** Of a delivery that was taken before, whatever else the settings of today would say of it. */
  products(payload: Uint8Array): string[]
}

/** Longest order id or product code. Longer ones would burst the indexes they go into. */
const LONGEST_ID = 200

const STATUS = 0

export function createDeliveryReader(
  { orderId, product, statusAnyCase }: DeliveryPointers,
  deepest: number,
): DeliveryReader {
  const pointers: Pointer[] = [
    { pointer: '/Status', anyCase: statusAnyCase },
    ...[...orderId, ...product].map((pointer) => ({ pointer, anyCase: true })),
  ]
  const firstProduct = 1 + orderId.length
  const pathOf = ({ pointer }: Found): string => pointers[pointer]?.pointer ?? ''

  const scan = createScanner(pointers, deepest)

  return {
    scan,
    products(payload) {
      const { text, found } = scan(withoutMark(payload))
      const places = found.filter(({ pointer }) => pointer >= firstProduct)
      return places.map((place) => readId(text, place)).filter((id) => id !== undefined)
    },
    facts({ text, found }) {
      const problems: Problem[] = []
      const products: string[] = []
      let order: { readonly pointer: number; readonly id: string } | undefined
      let status: number | undefined
      let statuses = 0
      for (const place of found) {
        const { pointer, start, end } = place
        if (pointer === STATUS) {
          statuses++
          status = end < 0 ? undefined : readStatus(text.slice(start, end))
          continue
        }
        const id = readId(text, place)
        if (id === undefined) continue
        if (id.length > LONGEST_ID)
          problems.push({ path: pathOf(place), message: `is longer than ${LONGEST_ID} characters` })
        else if (pointer >= firstProduct) products.push(id)
        // The first pointer that finds one counts; of a repeated field the last, as JSON.parse has it.
        else if (order === undefined || pointer <= order.pointer) order = { pointer, id }
      }
      if (statuses > 1) problems.push({ path: '/Status', message: 'is sent more than once' })
      else if (statuses === 0) problems.push({ path: '/Status', message: 'is required' })
      else if (status === undefined) problems.push({ path: '/Status', message: 'must be an integer from 0 to 3' })
      if (problems.length > 0 || status === undefined) return { problems }
      return { status, orderId: order?.id ?? null, products }
    },
  }
}

/** A string or a number as the text that was sent; nothing for an empty string or any other value. */
function readId(text: string, { start, end }: Found): string | undefined {
  if (end < 0) return undefined
  const first = text.charCodeAt(start)
  if (first === 0x22) {
    const raw = fromByteText(text.slice(start + 1, end - 1))
    return (raw.includes('\\') ? unescaped(raw) : raw) || undefined
  }
  return first === 0x2d || (first >= 0x30 && first <= 0x39) ? text.slice(start, end) : undefined
}

/** With its escapes where a database could not hold what they stand for: NUL and lone surrogates. */
function unescaped(raw: string): string {
  const id = JSON.parse(`"${raw}"`) as string
  return id.isWellFormed() && !id.includes('\0') ? id : raw
}
