import { type DeliverySummary, withinBytes } from '#src/store/store.ts'
import type { Reads } from './reads.ts'

interface Item {
  readonly position: number
  readonly payloadBytes: number
}

/** Payloads that one request reads on the request thread to find a product. */
export const MAX_READ = 125
const MAX_READ_BYTES = 256 * 1024

/**
 * Makes a function that reads payloads up to a limit of bytes and keeps up to `limit` items whose payload names the product. `last`
 * is the last item that was read; undefined if all were.
 */
export const createProductFilter =
  ({ deliveries, productsOf }: Pick<Reads, 'deliveries' | 'productsOf'>) =>
  async <Some extends Item>(items: readonly Some[], product: string, limit: number) => {
    const read = withinBytes(items, MAX_READ_BYTES)
    const positions = read.map(({ position }) => position)
    const payloads = await deliveries.payloads(positions, product)
    const found: Some[] = []
    for (const [index, item] of read.entries()) {
      const payload = payloads.get(item.position)
      if (payload && productsOf(payload).includes(product)) found.push(item)
      if (index < items.length - 1 && (found.length === limit || index === read.length - 1))
        return { found, last: item }
    }
    return { found, last: undefined }
  }

/** Adds payloads that were read after their deliveries were found: leaves out what was purged since, and marks what was erased since. */
export const withPayloads = (deliveries: readonly DeliverySummary[], payloads: Map<number, Uint8Array | null>) =>
  deliveries.flatMap((delivery) => {
    const payload = delivery.erased ? null : payloads.get(delivery.position)
    if (payload === undefined) return []
    return payload === null ? { delivery: { ...delivery, erased: true }, payload: undefined } : { delivery, payload }
  })
