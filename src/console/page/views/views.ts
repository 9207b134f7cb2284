import type { FunctionComponent } from 'preact'
import type { ViewProps } from '../lib/route.ts'
import { AuditView } from './audit.tsx'
import { CustomerView } from './customer.tsx'
import { CustomersView } from './customers.tsx'
import { DeliveriesView } from './deliveries.tsx'
import { DeliveryView } from './delivery.tsx'
import { HealthView } from './health.tsx'
import { NowView } from './now.tsx'
import { OrderView } from './order.tsx'
import { OrdersView } from './orders.tsx'
import { RefusalsView } from './refusals.tsx'
import { WebhookView } from './webhook.tsx'
import { WebhooksView } from './webhooks.tsx'

export type ViewName =
  | 'now'
  | 'deliveries'
  | 'delivery'
  | 'orders'
  | 'order'
  | 'customers'
  | 'customer'
  | 'refusals'
  | 'webhooks'
  | 'webhook'
  | 'audit'
  | 'health'

export interface View {
  readonly View: FunctionComponent<ViewProps>
  readonly inMenu?: true
  /** Support does not see it. */
  readonly reads?: true
  /** The entry of the menu that a detail belongs to. */
  readonly under?: ViewName
}

/** By their name in the address. */
export const VIEWS: Readonly<Record<ViewName, View>> = {
  now: { View: NowView, inMenu: true },
  deliveries: { View: DeliveriesView, inMenu: true },
  delivery: { View: DeliveryView, under: 'deliveries' },
  orders: { View: OrdersView, inMenu: true },
  order: { View: OrderView, under: 'orders' },
  customers: { View: CustomersView, inMenu: true },
  customer: { View: CustomerView, under: 'customers' },
  refusals: { View: RefusalsView, inMenu: true },
  webhooks: { View: WebhooksView, inMenu: true, reads: true },
  webhook: { View: WebhookView, under: 'webhooks' },
  audit: { View: AuditView, inMenu: true, reads: true },
  health: { View: HealthView, inMenu: true, reads: true },
}

export const viewOf = (name: string): View | undefined => Object.entries(VIEWS).find(([key]) => key === name)?.[1]
