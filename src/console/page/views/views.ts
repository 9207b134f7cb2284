import type { FunctionComponent } from 'preact'
import type { ViewProps } from '../lib/route.ts'
import { mayRead } from '../lib/session.ts'
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

export interface View {
  readonly View: FunctionComponent<ViewProps>
  /** After `g`, it opens the view. Those that have one stand in the menu. */
  readonly key?: string
  /** Support does not see it. */
  readonly reads?: true
  /** The entry of the menu that a detail belongs to. */
  readonly under?: string
}

/** By their name in the address. */
const VIEWS: Readonly<Record<string, View>> = {
  now: { View: NowView, key: 'n' },
  deliveries: { View: DeliveriesView, key: 'd' },
  delivery: { View: DeliveryView, under: 'deliveries' },
  orders: { View: OrdersView, key: 'o' },
  order: { View: OrderView, under: 'orders' },
  customers: { View: CustomersView, key: 'c' },
  customer: { View: CustomerView, under: 'customers' },
  refusals: { View: RefusalsView, key: 'r' },
  webhooks: { View: WebhooksView, key: 'w', reads: true },
  webhook: { View: WebhookView, under: 'webhooks' },
  audit: { View: AuditView, key: 'a', reads: true },
  health: { View: HealthView, key: 'h', reads: true },
}

export const viewOf = (name: string): View | undefined => (Object.hasOwn(VIEWS, name) ? VIEWS[name] : undefined)

/** The views of the menu that this operator sees, by name. */
export const menuViews = () => Object.entries(VIEWS).filter(([, { key, reads }]) => key && (!reads || mayRead.value))
