import type { Problem } from '#src/lib/app-error.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import type { Metrics } from '#src/lib/metrics/metrics.ts'
import type { Receipt } from '#src/store/store.ts'
import type { ParsedDelivery } from '../delivery-body.ts'
import { STATUS_MEANINGS } from '../status.ts'
import type { Outcome } from './intake.rule.ts'

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
  { warnings }: ParsedDelivery,
) => ({
  ReceiptID: receiptId,
  Status: status,
  ...(orderId !== null && { OrderID: orderId }),
  Duplicate: duplicate,
  ReceivedAt: isoMilliseconds(receivedAt),
  ...warningsAnswer(warnings),
})

export const validationAnswer = ({ status, orderId, duplicate }: Outcome, { products, warnings }: ParsedDelivery) => ({
  ValidateOnly: true as const,
  Status: status,
  ...(orderId !== null && { OrderID: orderId }),
  Products: [...new Set(products)],
  Duplicate: duplicate,
  ...warningsAnswer(warnings),
})

const warningsAnswer = (warnings: readonly Problem[]) => warnings.length > 0 && { Warnings: warnings.map(inWords) }

export const inWords = ({ path, message }: Problem): string => `${path || 'The body'} ${message}.`
