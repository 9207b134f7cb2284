import { get } from '../lib/api.ts'
import { customerName } from '../lib/customers.tsx'
import { foreign, statusBadge } from '../lib/foreign.tsx'
import { dateTime, zoneName } from '../lib/format.ts'
import { useFreshRows } from '../lib/live-rows.ts'
import { href } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { usePages } from '../lib/use-pages.ts'
import { FirstDelivery } from '../parts/delivery/curl.tsx'
import { deliveryFields } from '../parts/delivery/list.ts'
import { Filters } from '../parts/filters.tsx'
import { Table } from '../parts/table.tsx'

const COLUMNS = [
  {
    name: 'order',
    title: () => t('word.order'),
    cell: (row) => foreign(row.OrderID),
  },
  {
    name: 'status',
    title: () => t('word.status'),
    width: '15rem',
    cell: (row) => statusBadge(row.Status),
    only: (row) => ({ status: row.Status }),
  },
  {
    name: 'customer',
    title: () => t('word.customer'),
    cell: (row) => customerName(row.CustomerID),
    only: (row) => ({ customer: row.CustomerID }),
  },
  {
    name: 'changed',
    title: () => `${t('orders.changed')} · ${zoneName()}`,
    width: '12.5rem',
    cell: (row) => dateTime(row.ReceivedAt),
  },
]

const FIELDS = ['customer', 'orderId', 'product', 'status', 'from', 'to']
const PAGE_ROWS = 100

const keyOf = (row) => `${row.CustomerID} ${row.OrderID}`
const linkOf = (row) => href('order', [row.CustomerID, row.OrderID])

/** Whether a delivery may change the list. A newer Status also takes an order out of it. */
const concerns = (row, { customer, orderId }) =>
  (!customer || customer.includes('@') || row.CustomerID === customer) && (!orderId || row.OrderID === orderId)

export function OrdersView({ parameters }) {
  const query = Object.fromEntries(FIELDS.map((name) => [name, parameters[name]]))
  const load = async ({ cursor, signal } = {}) => {
    const data = await get('/Purchase/list', { ...query, order: 'newest', limit: PAGE_ROWS, cursor }, { signal })
    return { rows: data.Orders, next: data.NextCursor }
  }
  const pages = usePages(load, [query], keyOf)
  useFreshRows(pages, { concerns: (row) => concerns(row, query), readFirst: () => load() })
  const filtered = Object.values(query).some(Boolean)
  return (
    <>
      <h1>{t('word.orders')}</h1>
      <Filters fields={deliveryFields(FIELDS)} parameters={parameters} />
      <Table
        label={t('word.orders')}
        columns={COLUMNS}
        pages={pages}
        linkOf={linkOf}
        empty={filtered ? <p>{t('filters.none')}</p> : <FirstDelivery text={t('orders.none')} />}
      />
    </>
  )
}
