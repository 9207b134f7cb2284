import type { Static } from '@sinclair/typebox'
import type { DeliverySummarySchema } from '#src/purchase/deliveries/deliveries.schema.ts'
import type { DeliveryOriginSchema } from '#src/purchase/purchase.schema.ts'
import { get } from '../lib/api.ts'
import { foreign } from '../lib/foreign.tsx'
import { useLiveRows } from '../lib/live-rows.ts'
import type { Place } from '../lib/pages.ts'
import { ApiError } from '../lib/request.ts'
import { href, only, type ViewProps } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { readPage, usePages } from '../lib/use-pages.ts'
import { FirstDelivery } from '../parts/delivery/curl.tsx'
import { fieldsOf } from '../parts/filter-fields.ts'
import { agoColumn, CUSTOMER, List, type Query, STATUS } from '../parts/list.tsx'
import type { Column } from '../parts/table.tsx'

type Delivery = Static<typeof DeliverySummarySchema>

const COLUMNS: readonly Column<Delivery>[] = [
  {
    title: 'word.order',
    cell: (row) => (
      <span class={`dot status-${row.Status}`}>{row.OrderID ? foreign(row.OrderID) : t('deliveries.noOrder')}</span>
    ),
  },
  STATUS,
  {
    title: 'deliveries.notes',
    width: '7rem',
    cell: (row) => notes(row),
    only: (row) => !row.Erased && { duplicate: 'true' },
  },
  CUSTOMER,
  {
    title: 'word.apiKey',
    width: '6.5rem',
    wide: true,
    cell: (row) => row.KeyID && foreign(row.KeyLabel || t('key.noLabel')),
    only: (row) => ({ key: row.KeyID }),
  },
  {
    title: 'word.address',
    width: '8rem',
    wide: true,
    cell: (row) => row.Address && foreign(row.Address),
    only: (row) => ({ address: row.Address }),
  },
  agoColumn('word.received', '8rem', ({ ReceivedAt }) => ReceivedAt),
]

const notes = ({ Erased, Duplicate }: Delivery) =>
  Erased ? t('deliveries.erased') : Duplicate ? <span class="badge">{t('deliveries.echo')}</span> : null

const FIELDS = ['customer', 'orderId', 'product', 'status', 'key', 'address', 'from', 'to', 'receipt', 'duplicate']
/** Deliveries are listed in the order in which they were stored, which may differ a little from that of their arrival. */
const SLACK_MILLISECONDS = 1000

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

async function loadPage({ receipt, ...query }: Query, place: Place<Delivery> = {}) {
  const { before, signal } = place
  if (receipt) return loadReceipt(receipt, query, signal)
  const to = before && new Date(Date.parse(before.ReceivedAt) + SLACK_MILLISECONDS).toISOString()
  const parameters = { ...query, ...(to && { to: query.to && Date.parse(query.to) < Date.parse(to) ? query.to : to }) }
  return readPage<Delivery>('/Purchase/deliveries', 'Deliveries', parameters, place)
}

async function loadReceipt(receipt: string, query: Query, signal?: AbortSignal) {
  try {
    const path = `/Purchase/delivery/${encodeURIComponent(receipt)}`
    const row = await get<Static<typeof DeliveryOriginSchema>>(path, {}, signal)
    return { rows: fits(row, query) === false ? [] : [row], next: null }
  } catch (error) {
    if (error instanceof ApiError && error.code === 'DELIVERY_NOT_FOUND') return { rows: [], next: null }
    throw error
  }
}

export function DeliveriesView({ parameters }: ViewProps) {
  const query = only(FIELDS, parameters)
  const pages = usePages((place: Place<Delivery>) => loadPage(query, place), [query], keyOf)
  useLiveRows(pages, { fits: (row: Delivery) => fits(row, query), readFirst: () => loadPage(query) })
  return (
    <List
      name="deliveries"
      path={query.receipt ? undefined : '/Purchase/deliveries'}
      query={query}
      fields={fieldsOf(FIELDS)}
      columns={COLUMNS}
      pages={pages}
      linkOf={linkOf}
      none={<FirstDelivery text="deliveries.none" />}
    />
  )
}
