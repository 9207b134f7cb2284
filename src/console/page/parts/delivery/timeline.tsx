import { get } from '../../lib/api.ts'
import { foreign, statusBadge } from '../../lib/foreign.tsx'
import { preciseTime } from '../../lib/format.ts'
import { useLiveRows } from '../../lib/live-rows.ts'
import { mergeLists } from '../../lib/merge-lists.ts'
import { t } from '../../lib/texts.ts'
import { usePages } from '../../lib/use-pages.ts'
import { Problem } from '../problem.tsx'
import { whyRefused } from '../refusal.tsx'

const keyOf = (row) => row.ReceiptID ?? row.RefusalID
export const timeOf = (row) => row.ReceivedAt ?? row.RefusedAt

/** Browsers read these as steps within a path, even if they are percent-encoded. */
const isStep = (text) => text === '.' || text === '..'

async function readDeliveries({ customer, orderId }, { cursor, signal }) {
  const data = isStep(orderId)
    ? await get('/Purchase/deliveries', { customer, orderId, cursor }, { signal })
    : await get(`/Purchase/detail/${encodeURIComponent(orderId)}`, { customer, cursor }, { signal }).catch(noneAccepted)
  return { rows: data.Deliveries, next: data.NextCursor }
}

/** There may be refusals. */
function noneAccepted(error) {
  if (error.code !== 'ORDER_NOT_FOUND') throw error
  return { Deliveries: [], NextCursor: null }
}

async function readRefusals({ customer, orderId }, { cursor, signal }) {
  const data = await get('/Purchase/refusals', { customer, orderId, cursor }, { signal })
  return { rows: data.Refusals, next: data.NextCursor }
}

/** Deliveries and refusals as one list. */
function createLoad(order) {
  const readers = [readDeliveries, readRefusals].map((read) => (place) => read(order, place))
  const read = mergeLists(readers, timeOf)
  return async (place) => {
    const page = await read(place)
    const isNothing = place?.cursor === undefined && page.rows.length === 0 && page.next === null
    if (isNothing) throw Object.assign(new Error(), { code: 'ORDER_NOT_FOUND' })
    return page
  }
}

/** The deliveries and refusals of an order, newest first. New deliveries come by themselves. */
export function useOrderHistory(order) {
  const load = createLoad(order)
  const pages = usePages(load, [order], keyOf)
  const fits = (row) => row.OrderID === order.orderId && row.CustomerID === order.customer
  useLiveRows(pages, { fits, readFirst: () => load() })
  return pages
}

/** The delivery before another one: undefined until the history is read so far, null if there is none. */
export function deliveryBefore(pages, receiptId) {
  const { rows, next } = pages.state.value
  const index = rows.findIndex((row) => row.ReceiptID === receiptId)
  const before = index < 0 ? undefined : rows.slice(index + 1).find((row) => row.ReceiptID !== undefined)
  return before ?? (next === null ? null : undefined)
}

/** What happened to an order, newest first. `chosen` is a receipt or the id of a refusal. */
export function Timeline({ pages, chosen, linkOf }) {
  const { rows, next, loading, error, held } = pages.state.value
  return (
    <div class="timeline">
      <h2 id="timeline-title">{t('timeline.title')}</h2>
      <div class="timeline-box" tabindex="0" role="region" aria-labelledby="timeline-title">
        {held.length > 0 && (
          <button onClick={() => pages.showHeld()}>
            {t('table.newer', { number: held.length, count: held.length })}
          </button>
        )}
        <ol aria-busy={String(loading)}>
          {rows.map((row) => (
            <li key={keyOf(row)} class={row.RefusalID ? 'failed' : `status-${row.Status}`}>
              <a href={linkOf(row)} aria-current={keyOf(row) === chosen ? 'true' : undefined}>
                <time datetime={timeOf(row)}>{preciseTime(timeOf(row))}</time>
                {row.RefusalID ? <Refused refusal={row} /> : <Accepted delivery={row} />}
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

const Accepted = ({ delivery: { Status, Duplicate, Erased } }) => (
  <span>
    {statusBadge(Status)}
    {Duplicate && (
      <>
        {' '}
        <span class="badge">{t('deliveries.echo')}</span>
      </>
    )}
    {Erased && (
      <>
        {' '}
        <span class="note">{t('deliveries.erased')}</span>
      </>
    )}
  </span>
)

const Refused = ({ refusal }) => (
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
