import type { Static } from '@sinclair/typebox'
import type { DeliveriesSchema } from '#src/purchase/deliveries/deliveries.schema.ts'
import type { RefusalsSchema } from '#src/purchase/refusals/refusals.schema.ts'
import { foreign, statusBadge } from '../../lib/foreign.tsx'
import { dateTime, preciseTime } from '../../lib/format.ts'
import { useLiveRows } from '../../lib/live-rows.ts'
import { mergeLists } from '../../lib/merge-lists.ts'
import type { Page, Place } from '../../lib/pages.ts'
import { ApiError } from '../../lib/request.ts'
import { t } from '../../lib/texts.ts'
import { readPage, usePages } from '../../lib/use-pages.ts'
import { Problem } from '../problem.tsx'
import { whyRefused } from '../refusal.tsx'
import { isStep, type Order } from './erase.tsx'

type Refusal = Static<typeof RefusalsSchema>['Refusals'][number]
type Delivery = Pick<
  Static<typeof DeliveriesSchema>['Deliveries'][number],
  'ReceiptID' | 'Status' | 'Duplicate' | 'ReceivedAt' | 'Erased'
>

export type Entry = Delivery | Refusal

export const isRefusal = (row: Entry): row is Refusal => 'RefusalID' in row

export const isDelivery = (row: Entry): row is Delivery => !isRefusal(row)

export const keyOf = (row: Entry): string => (isRefusal(row) ? row.RefusalID : row.ReceiptID)
export const timeOf = (row: Entry): string => (isRefusal(row) ? row.RefusedAt : row.ReceivedAt)

async function readDeliveries({ customer, orderId }: Order, place: Place<Entry>): Promise<Page<Entry>> {
  const path = isStep(orderId) ? '/Purchase/deliveries' : `/Purchase/detail/${encodeURIComponent(orderId)}`
  const reading = readPage<Entry>(path, 'Deliveries', { customer, ...(isStep(orderId) && { orderId }) }, place)
  return reading.catch((error: unknown) => {
    // There may be refusals.
    if (!(error instanceof ApiError && error.code === 'ORDER_NOT_FOUND')) throw error
    return { rows: [], next: null }
  })
}

const readRefusals = ({ customer, orderId }: Order, place: Place<Entry>) =>
  readPage<Entry>('/Purchase/refusals', 'Refusals', { customer, orderId }, place)

/** Deliveries and refusals as one list. */
function createLoad(order: Order) {
  const readers = [readDeliveries, readRefusals].map((read) => (place: Place<Entry>) => read(order, place))
  const read = mergeLists(readers, timeOf)
  return async (place?: Parameters<typeof read>[0]) => {
    const page = await read(place)
    const isNothing = place?.cursor === undefined && page.rows.length === 0 && page.next === null
    if (isNothing) throw Object.assign(new Error(), { code: 'ORDER_NOT_FOUND' })
    return page
  }
}

/** The deliveries and refusals of an order, newest first. New deliveries come by themselves. */
export function useOrderHistory(order: Order) {
  const load = createLoad(order)
  const pages = usePages(load, [order], keyOf)
  const fits = (row: { readonly OrderID?: string; readonly CustomerID: string }) =>
    row.OrderID === order.orderId && row.CustomerID === order.customer
  useLiveRows(pages, { fits, readFirst: () => load() })
  return pages
}

type Loaded = ReturnType<typeof useOrderHistory>

/** The delivery before another one: undefined until the history is read so far, null if there is none. */
export function deliveryBefore(pages: Loaded, receiptId: string): Delivery | null | undefined {
  const { rows, next } = pages.state.value
  const index = rows.findIndex((row) => keyOf(row) === receiptId)
  const before = index < 0 ? undefined : rows.slice(index + 1).find(isDelivery)
  return before ?? (next === null ? null : undefined)
}

interface TimelineProperties {
  readonly pages: Loaded
  /** A receipt, or the id of a refusal. */
  readonly chosen: string | undefined
  readonly linkOf: (row: Entry) => string
}

/** What happened to an order, newest first. */
export function Timeline({ pages, chosen, linkOf }: TimelineProperties) {
  const { rows, next, loading, error, held } = pages.state.value
  return (
    <div class="timeline">
      <h2 id="timeline-title">{t('timeline.title')}</h2>
      <div class="timeline-box" tabIndex={0} role="region" aria-labelledby="timeline-title">
        {held.length > 0 && (
          <button onClick={() => pages.showHeld()}>{t('table.newer', { count: held.length })}</button>
        )}
        <ol aria-busy={loading}>
          {rows.map((row) => (
            <li key={keyOf(row)} class={isRefusal(row) ? 'failed' : `status-${row.Status}`}>
              <a href={linkOf(row)} aria-current={keyOf(row) === chosen ? 'true' : undefined}>
                {isRefusal(row) ? <Refused refusal={row} /> : <Accepted delivery={row} />}
                <time class="note" dateTime={timeOf(row)} title={preciseTime(timeOf(row))}>
                  {dateTime(timeOf(row))}
                </time>
              </a>
            </li>
          ))}
        </ol>
        {loading && <p class="note">{t('detail.loading')}</p>}
        {error && <Problem error={error} again={pages.more} />}
        {next && !loading && <button onClick={pages.more}>{t('timeline.older')}</button>}
      </div>
    </div>
  )
}

const Accepted = ({ delivery: { Status, Duplicate, Erased } }: { readonly delivery: Delivery }) => (
  <span>
    {statusBadge(Status)} {Duplicate && <span class="badge">{t('deliveries.echo')}</span>}{' '}
    {Erased && <span class="note">{t('deliveries.erased')}</span>}
  </span>
)

const Refused = ({ refusal }: { readonly refusal: Refusal }) => (
  <>
    <span>
      <span class="badge failed">{t('timeline.refused')}</span> <code>{refusal.ErrorCode}</code>
    </span>
    <span class="note">
      {foreign(whyRefused(refusal))}
      {refusal.PayloadBytes !== undefined && ` · ${t('timeline.kept')}`}
    </span>
  </>
)
