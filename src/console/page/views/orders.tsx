import type { Static } from '@sinclair/typebox'
import type { OrderListSchema } from '#src/purchase/orders/orders.schema.ts'
import { foreign } from '../lib/foreign.tsx'
import { useFreshRows } from '../lib/live-rows.ts'
import type { Place } from '../lib/pages.ts'
import { href, only, type ViewProps } from '../lib/route.ts'
import { readPage, usePages } from '../lib/use-pages.ts'
import { FirstDelivery } from '../parts/delivery/curl.tsx'
import { fieldsOf } from '../parts/filter-fields.ts'
import { agoColumn, CUSTOMER, List, type Query, STATUS } from '../parts/list.tsx'
import type { Column } from '../parts/table.tsx'

type Order = Static<typeof OrderListSchema>['Orders'][number]

const COLUMNS: readonly Column<Order>[] = [
  {
    title: 'word.order',
    cell: (row) => <span class={`dot status-${row.Status}`}>{foreign(row.OrderID)}</span>,
  },
  STATUS,
  CUSTOMER,
  agoColumn('orders.changed', '9rem', ({ ReceivedAt }) => ReceivedAt),
]

const FIELDS = ['customer', 'orderId', 'product', 'status', 'from', 'to']

const keyOf = (row: Order) => `${row.CustomerID} ${row.OrderID}`
const linkOf = (row: Order) => href('order', [row.CustomerID, row.OrderID])

/** Whether a delivery may change the list. A newer Status also takes an order out of it. */
const concerns = (row: { CustomerID: string; OrderID?: string }, { customer, orderId }: Query) =>
  (!customer || customer.includes('@') || row.CustomerID === customer) && (!orderId || row.OrderID === orderId)

export function OrdersView({ parameters }: ViewProps) {
  const query = { ...only(FIELDS, parameters), order: 'newest' }
  const load = (place?: Place<Order>) => readPage<Order>('/Purchase/list', 'Orders', query, place)
  const pages = usePages(load, [query], keyOf)
  useFreshRows(pages, { concerns: (row) => concerns(row, query), readFirst: () => load() })
  return (
    <List
      name="orders"
      path="/Purchase/list"
      query={query}
      fields={fieldsOf(FIELDS)}
      columns={COLUMNS}
      pages={pages}
      linkOf={linkOf}
      none={<FirstDelivery text="orders.none" />}
    />
  )
}
