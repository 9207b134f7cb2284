import type { Static } from '@sinclair/typebox'
import type { OrderListSchema } from '#src/purchase/orders/orders.schema.ts'
import { get } from '../lib/api.ts'
import { customerName } from '../lib/customers.tsx'
import { foreign, statusText } from '../lib/foreign.tsx'
import { useFreshRows } from '../lib/live-rows.ts'
import type { Place } from '../lib/pages.ts'
import { href, type ViewProps } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { usePages } from '../lib/use-pages.ts'
import { FirstDelivery } from '../parts/delivery/curl.tsx'
import { deliveryFields } from '../parts/delivery/list.ts'
import { ListHeading } from '../parts/export-menu.tsx'
import { Filters, NoResults } from '../parts/filters.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Ago } from '../parts/words.tsx'

type List = Static<typeof OrderListSchema>
type Order = List['Orders'][number]

const COLUMNS: readonly Column<Order>[] = [
  {
    name: 'order',
    title: () => t('word.order'),
    cell: (row) => <span class={`dot status-${row.Status}`}>{foreign(row.OrderID)}</span>,
  },
  {
    name: 'status',
    title: () => t('word.status'),
    width: '13rem',
    cell: (row) => statusText(row.Status),
    only: (row) => ({ status: row.Status }),
  },
  {
    name: 'customer',
    title: () => t('word.customer'),
    cell: (row) => customerName(row.CustomerID, row.Customer),
    only: (row) => ({ customer: row.CustomerID }),
  },
  {
    name: 'changed',
    title: () => t('orders.changed'),
    width: '9rem',
    cell: (row, tabIndex) => <Ago at={row.ReceivedAt} tabIndex={tabIndex} />,
  },
]

const FIELDS = ['customer', 'orderId', 'product', 'status', 'from', 'to']
const PAGE_ROWS = 100

const keyOf = (row: Order) => `${row.CustomerID} ${row.OrderID}`
const linkOf = (row: Order) => href('order', [row.CustomerID, row.OrderID])

/** Whether a delivery may change the list. A newer Status also takes an order out of it. */
const concerns = (
  row: { CustomerID: string; OrderID?: string },
  { customer, orderId }: Readonly<Record<string, string | undefined>>,
) => (!customer || customer.includes('@') || row.CustomerID === customer) && (!orderId || row.OrderID === orderId)

export function OrdersView({ parameters }: ViewProps) {
  const query = Object.fromEntries(FIELDS.map((name) => [name, parameters[name]]))
  const load = async ({ cursor, signal }: Place<Order> = {}) => {
    const parameters = { ...query, order: 'newest', limit: PAGE_ROWS, cursor }
    const data: List = await get('/Purchase/list', parameters, { signal })
    return { rows: data.Orders, next: data.NextCursor }
  }
  const pages = usePages(load, [query], keyOf)
  useFreshRows(pages, { concerns: (row) => concerns(row, query), readFirst: () => load() })
  const fields = deliveryFields(FIELDS)
  const filtered = Object.values(query).some(Boolean)
  return (
    <>
      <ListHeading title={t('word.orders')} path="/Purchase/list" query={{ ...query, order: 'newest' }} name="orders" />
      <Filters fields={fields} parameters={parameters} />
      <Table
        label={t('word.orders')}
        columns={COLUMNS}
        pages={pages}
        linkOf={linkOf}
        empty={filtered ? <NoResults fields={fields} /> : <FirstDelivery text={t('orders.none')} />}
      />
    </>
  )
}
