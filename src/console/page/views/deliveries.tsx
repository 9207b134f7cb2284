import { get } from '../lib/api.ts'
import { customerName } from '../lib/customers.tsx'
import { foreign, statusBadge } from '../lib/foreign.tsx'
import { dateTime, zoneName } from '../lib/format.ts'
import { useLiveRows } from '../lib/live-rows.ts'
import { href } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { usePages } from '../lib/use-pages.ts'
import { FirstDelivery } from '../parts/delivery/curl.tsx'
import { deliveryFields } from '../parts/delivery/list.ts'
import { Filters } from '../parts/filters.tsx'
import { Table } from '../parts/table.tsx'

const COLUMNS = [
  {
    name: 'received',
    title: () => `${t('word.received')} · ${zoneName()}`,
    width: '12.5rem',
    cell: (row) => dateTime(row.ReceivedAt),
  },
  {
    name: 'status',
    title: () => t('word.status'),
    width: '15rem',
    cell: (row) => statusBadge(row.Status),
    only: (row) => ({ status: row.Status }),
  },
  {
    name: 'order',
    title: () => t('word.order'),
    cell: (row) => row.OrderID && foreign(row.OrderID),
    only: (row) => ({ orderId: row.OrderID }),
  },
  {
    name: 'customer',
    title: () => t('word.customer'),
    cell: (row) => customerName(row.CustomerID),
    only: (row) => ({ customer: row.CustomerID }),
  },
  {
    name: 'key',
    title: () => t('word.apiKey'),
    width: '8rem',
    cell: (row) => row.KeyID && foreign(row.KeyLabel || t('key.noLabel')),
    only: (row) => ({ key: row.KeyID }),
  },
  {
    name: 'address',
    title: () => t('word.address'),
    width: '9rem',
    cell: (row) => row.Address && foreign(row.Address),
    only: (row) => ({ address: row.Address }),
  },
  {
    name: 'notes',
    title: () => t('deliveries.notes'),
    width: '8rem',
    aside: true,
    cell: (row) =>
      row.Erased ? t('deliveries.erased') : row.Duplicate ? <span class="badge">{t('deliveries.echo')}</span> : null,
    only: (row) => !row.Erased && { duplicate: 'true' },
  },
]

const FIELDS = ['customer', 'orderId', 'product', 'status', 'key', 'address', 'from', 'to', 'receipt', 'duplicate']
const PAGE_ROWS = 100
/** Deliveries are listed in the order in which they were stored, which may differ a little from that of their arrival. */
const SLACK_MILLISECONDS = 1000

const keyOf = (row) => row.ReceiptID
const linkOf = (row) => href('delivery', [row.ReceiptID])

/** Whether a delivery fits the filters, or undefined if only the server knows. */
export function fits(row, { customer, orderId, product, status, key, address, from, to, receipt, duplicate }) {
  if (customer?.includes('@') || product || address) return undefined
  return (
    (!customer || row.CustomerID === customer) &&
    (!orderId || row.OrderID === orderId) &&
    (!status || String(row.Status) === status) &&
    (!key || row.KeyID === key) &&
    (!receipt || row.ReceiptID === receipt) &&
    (!duplicate || String(row.Duplicate) === duplicate) &&
    (!from || Date.parse(row.ReceivedAt) >= Date.parse(from)) &&
    (!to || Date.parse(row.ReceivedAt) < Date.parse(to))
  )
}

async function loadPage({ receipt, ...query }, { cursor, before, signal }) {
  if (receipt) return loadReceipt({ receipt, ...query }, signal)
  const to = before && new Date(Date.parse(before.ReceivedAt) + SLACK_MILLISECONDS).toISOString()
  const parameters = { ...query, ...(to && { to: Date.parse(query.to) < Date.parse(to) ? query.to : to }) }
  const data = await get('/Purchase/deliveries', { ...parameters, limit: PAGE_ROWS, cursor }, { signal })
  return { rows: data.Deliveries, next: data.NextCursor, scanned: data.Scanned }
}

async function loadReceipt(query, signal) {
  try {
    const row = await get(`/Purchase/delivery/${encodeURIComponent(query.receipt)}`, {}, { signal })
    return { rows: fits(row, query) === false ? [] : [row], next: null }
  } catch (error) {
    if (error.code === 'DELIVERY_NOT_FOUND') return { rows: [], next: null }
    throw error
  }
}

export function DeliveriesView({ parameters }) {
  const query = Object.fromEntries(FIELDS.map((name) => [name, parameters[name]]))
  const pages = usePages((place) => loadPage(query, place), [query], keyOf)
  useLiveRows(pages, { fits: (row) => fits(row, query), readFirst: () => loadPage(query, {}) })
  const filtered = Object.values(query).some(Boolean)
  return (
    <>
      <h1>{t('word.deliveries')}</h1>
      <Filters fields={deliveryFields(FIELDS)} parameters={parameters} />
      <Table
        label={t('word.deliveries')}
        columns={COLUMNS}
        pages={pages}
        linkOf={linkOf}
        empty={filtered ? <p>{t('filters.none')}</p> : <FirstDelivery text={t('deliveries.none')} />}
      />
    </>
  )
}
