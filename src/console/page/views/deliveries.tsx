import type { Static } from '@sinclair/typebox'
import type { DeliveriesSchema, DeliverySummarySchema } from '#src/purchase/deliveries/deliveries.schema.ts'
import type { DeliveryOriginSchema } from '#src/purchase/purchase.schema.ts'
import { get } from '../lib/api.ts'
import { customerName } from '../lib/customers.tsx'
import { foreign, statusText } from '../lib/foreign.tsx'
import { useLiveRows } from '../lib/live-rows.ts'
import type { Place } from '../lib/pages.ts'
import { ApiError } from '../lib/request.ts'
import { href, type ViewProps } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { usePages } from '../lib/use-pages.ts'
import { FirstDelivery } from '../parts/delivery/curl.tsx'
import { deliveryFields } from '../parts/delivery/list.ts'
import { ListHeading } from '../parts/export-menu.tsx'
import { Filters, NoResults } from '../parts/filters.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Ago } from '../parts/words.tsx'

type Delivery = Static<typeof DeliverySummarySchema>

const COLUMNS: readonly Column<Delivery>[] = [
  {
    name: 'order',
    title: () => t('word.order'),
    cell: (row) => (
      <span class={`dot status-${row.Status}`}>{row.OrderID ? foreign(row.OrderID) : t('deliveries.noOrder')}</span>
    ),
  },
  {
    name: 'status',
    title: () => t('word.status'),
    width: '12.5rem',
    cell: (row) => statusText(row.Status),
    only: (row) => ({ status: row.Status }),
  },
  {
    name: 'notes',
    title: () => t('deliveries.notes'),
    width: '5.5rem',
    cell: (row) => notes(row),
    only: (row) => !row.Erased && { duplicate: 'true' },
  },
  {
    name: 'customer',
    title: () => t('word.customer'),
    cell: (row) => customerName(row.CustomerID, row.Customer),
    only: (row) => ({ customer: row.CustomerID }),
  },
  {
    name: 'key',
    title: () => t('word.apiKey'),
    width: '6.5rem',
    wide: true,
    cell: (row) => row.KeyID && foreign(row.KeyLabel || t('key.noLabel')),
    only: (row) => ({ key: row.KeyID }),
  },
  {
    name: 'address',
    title: () => t('word.address'),
    width: '8rem',
    wide: true,
    cell: (row) => row.Address && foreign(row.Address),
    only: (row) => ({ address: row.Address }),
  },
  {
    name: 'received',
    title: () => t('word.received'),
    width: '8rem',
    cell: (row, tabIndex) => <Ago at={row.ReceivedAt} tabIndex={tabIndex} />,
  },
]

const notes = ({ Erased, Duplicate }: Delivery) =>
  Erased ? t('deliveries.erased') : Duplicate ? <span class="badge">{t('deliveries.echo')}</span> : null

const FIELDS = ['customer', 'orderId', 'product', 'status', 'key', 'address', 'from', 'to', 'receipt', 'duplicate']
const PAGE_ROWS = 100
/** Deliveries are listed in the order in which they were stored, which may differ a little from that of their arrival. */
const SLACK_MILLISECONDS = 1000

type Query = Readonly<Record<string, string | undefined>>

const keyOf = (row: Delivery) => row.ReceiptID
const linkOf = (row: Delivery) => href('delivery', [row.ReceiptID])

/** Whether a delivery fits the filters, or undefined if only the server knows. */
export function fits(row: Delivery, query: Query): boolean | undefined {
  const { customer, orderId, product, status, key, address, from, to, receipt, duplicate } = query
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

async function loadPage({ receipt, ...query }: Query, { cursor, before, signal }: Place<Delivery>) {
  if (receipt) return loadReceipt(receipt, query, signal)
  const to = before && new Date(Date.parse(before.ReceivedAt) + SLACK_MILLISECONDS).toISOString()
  const parameters = { ...query, ...(to && { to: query.to && Date.parse(query.to) < Date.parse(to) ? query.to : to }) }
  const data: Static<typeof DeliveriesSchema> = await get(
    '/Purchase/deliveries',
    { ...parameters, limit: PAGE_ROWS, cursor },
    { signal },
  )
  return { rows: data.Deliveries, next: data.NextCursor, scanned: data.Scanned }
}

async function loadReceipt(receipt: string, query: Query, signal?: AbortSignal) {
  try {
    const row: Static<typeof DeliveryOriginSchema> = await get(
      `/Purchase/delivery/${encodeURIComponent(receipt)}`,
      {},
      { signal },
    )
    return { rows: fits(row, query) === false ? [] : [row], next: null }
  } catch (error) {
    if (error instanceof ApiError && error.code === 'DELIVERY_NOT_FOUND') return { rows: [], next: null }
    throw error
  }
}

export function DeliveriesView({ parameters }: ViewProps) {
  const query = Object.fromEntries(FIELDS.map((name) => [name, parameters[name]]))
  const pages = usePages((place: Place<Delivery>) => loadPage(query, place), [query], keyOf)
  useLiveRows(pages, { fits: (row: Delivery) => fits(row, query), readFirst: () => loadPage(query, {}) })
  const fields = deliveryFields(FIELDS)
  const filtered = Object.values(query).some(Boolean)
  return (
    <>
      <ListHeading
        title={t('word.deliveries')}
        path={query.receipt ? undefined : '/Purchase/deliveries'}
        query={query}
        name="deliveries"
      />
      <Filters fields={fields} parameters={parameters} />
      <Table
        label={t('word.deliveries')}
        columns={COLUMNS}
        pages={pages}
        linkOf={linkOf}
        empty={filtered ? <NoResults fields={fields} /> : <FirstDelivery text={t('deliveries.none')} />}
      />
    </>
  )
}
