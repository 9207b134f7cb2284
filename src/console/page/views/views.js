/**
 * Every view by its name in the address. `load` fetches it when it is opened for the first time; `under` is the entry of the menu that
 * a detail belongs to. Support does not see what has `reads`.
 */
export const VIEWS = {
  now: { load: () => import('./now.js').then(({ NowView }) => NowView), inMenu: true },
  deliveries: { load: () => import('./deliveries.js').then(({ DeliveriesView }) => DeliveriesView), inMenu: true },
  delivery: { load: () => import('./delivery.js').then(({ DeliveryView }) => DeliveryView), under: 'deliveries' },
  orders: { load: () => import('./orders.js').then(({ OrdersView }) => OrdersView), inMenu: true },
  order: { load: () => import('./order.js').then(({ OrderView }) => OrderView), under: 'orders' },
  customers: { load: () => import('./customers.js').then(({ CustomersView }) => CustomersView), inMenu: true },
  customer: { load: () => import('./customer.js').then(({ CustomerView }) => CustomerView), under: 'customers' },
  refusals: { load: () => import('./refusals.js').then(({ RefusalsView }) => RefusalsView), inMenu: true },
  webhooks: { load: () => import('./webhooks.js').then(({ WebhooksView }) => WebhooksView), inMenu: true, reads: true },
  webhook: { load: () => import('./webhook.js').then(({ WebhookView }) => WebhookView), under: 'webhooks' },
  audit: { load: () => import('./audit.js').then(({ AuditView }) => AuditView), inMenu: true, reads: true },
  health: { load: () => import('./health.js').then(({ HealthView }) => HealthView), inMenu: true, reads: true },
}
