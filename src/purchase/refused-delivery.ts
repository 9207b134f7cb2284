import { isUtf8 } from 'node:buffer'
import { withoutMark } from '#src/lib/byte-text.ts'
import { createScanner, DEEPEST } from '#src/lib/json/scan.ts'
import { type DeliverySettings, LONGEST_ID, readId } from './delivery-body.ts'
import type { Supplier } from './supplier-access.ts'

interface RefusedRequest {
  /** The bytes, if they were read before the refusal. */
  readonly body?: unknown
  /** Undefined if the request was refused before its supplier was identified. */
  readonly supplier?: Supplier
}

/** Makes a function that finds the key and, in a body that is valid JSON, the order id of a refused delivery. */
export function createRefusedDelivery({ orderIdPointers }: Pick<DeliverySettings, 'orderIdPointers'>) {
  const scan = createScanner(
    orderIdPointers.map((pointer) => ({ pointer, anyCase: true })),
    DEEPEST,
  )

  /** As in a delivery: the first pointer that finds an id wins; of a repeated field the last value. */
  const orderIdIn = (body: unknown): string | null => {
    if (!Buffer.isBuffer(body) || body.length === 0 || !isUtf8(body)) return null
    const { text, found, valid } = scan(withoutMark(body))
    if (!valid) return null
    let order: { readonly pointer: number; readonly id: string } | undefined
    for (const place of found) {
      const id = readId(text, place)
      if (id !== undefined && (order === undefined || place.pointer <= order.pointer))
        order = { pointer: place.pointer, id }
    }
    return order === undefined || order.id.length > LONGEST_ID ? null : order.id
  }

  /** `part` is the body of one delivery of several. */
  return ({ body, supplier }: RefusedRequest, part = body) => ({
    keyId: supplier?.key.id ?? null,
    findOrderId: () => (supplier === undefined ? null : orderIdIn(part)),
  })
}
