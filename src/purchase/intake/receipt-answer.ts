import type { Problem } from '#src/lib/app-error.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import type { Metrics } from '#src/lib/metrics/metrics.ts'
import type { Receipt } from '#src/store/store.ts'
import { STATUS_MEANINGS } from '../status.ts'
import type { Foresight, IncomingDelivery } from './intake.rule.ts'

/** Returns a function that counts a delivery. All series are there from the start. */
export function deliveryCounts(metrics: Metrics): (receipt: Receipt) => void {
  const deliveries = metrics.counter('teslim_deliveries_total', 'Deliveries that got a receipt, by Status.')
  const counts = STATUS_MEANINGS.map((_, status) => ({
    first: deliveries({ status: String(status), duplicate: 'false' }),
    duplicate: deliveries({ status: String(status), duplicate: 'true' }),
  }))
  return ({ status, duplicate }) => {
    const count = counts[status]?.[duplicate ? 'duplicate' : 'first']
    if (count !== undefined) count.value++
  }
}

export const receiptAnswer = (
  { receiptId, status, orderId, duplicate, receivedAt }: Receipt,
  { oddities }: IncomingDelivery,
) => ({
  ReceiptID: receiptId,
  Status: status,
  ...(orderId !== null && { OrderID: orderId }),
  Duplicate: duplicate,
  ReceivedAt: isoMilliseconds(receivedAt),
  ...warnings(oddities),
})

export const validationAnswer = (
  { status, orderId, duplicate }: Foresight,
  { products, oddities }: IncomingDelivery,
) => ({
  ValidateOnly: true as const,
  Status: status,
  ...(orderId !== null && { OrderID: orderId }),
  Products: [...new Set(products)],
  Duplicate: duplicate,
  ...warnings(oddities),
})

const warnings = (oddities: readonly Problem[]) => oddities.length > 0 && { Warnings: oddities.map(inWords) }

export const inWords = ({ path, message }: Problem): string => `${path || 'The body'} ${message}.`
