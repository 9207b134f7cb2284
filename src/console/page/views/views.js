import { AuditView } from './audit.js'
import { CustomerView } from './customer.js'
import { CustomersView } from './customers.js'
import { DeliveriesView } from './deliveries.js'
import { DeliveryView } from './delivery.js'
import { HealthView } from './health.js'
import { NowView } from './now.js'
import { OrderView } from './order.js'
import { OrdersView } from './orders.js'
import { RefusalsView } from './refusals.js'

/** Every view by its name in the address. `under` is the entry of the menu that a detail belongs to. */
export const VIEWS = {
  now: { component: NowView, inMenu: true },
  deliveries: { component: DeliveriesView, inMenu: true },
  delivery: { component: DeliveryView, under: 'deliveries' },
  orders: { component: OrdersView, inMenu: true },
  order: { component: OrderView, under: 'orders' },
  customers: { component: CustomersView, inMenu: true },
  customer: { component: CustomerView, under: 'customers' },
  refusals: { component: RefusalsView, inMenu: true },
  audit: { component: AuditView, inMenu: true },
  health: { component: HealthView, inMenu: true },
}
