import type { DeliverySummary, WebhookSettings } from '#src/store/store.ts'

/** Whether an endpoint gets a delivery. */
export const isWanted = (
  { customerId, statuses, duplicates }: Pick<WebhookSettings, 'customerId' | 'statuses' | 'duplicates'>,
  delivery: Pick<DeliverySummary, 'customerId' | 'status' | 'duplicate'>,
): boolean =>
  (customerId === null || customerId === delivery.customerId) &&
  (statuses?.includes(delivery.status) ?? true) &&
  (duplicates || !delivery.duplicate)
