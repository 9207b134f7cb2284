import { get } from '../../lib/api.js'
import { statusBadge } from '../../lib/foreign.js'
import { preciseTime } from '../../lib/format.js'
import { html } from '../../lib/html.js'
import { useLiveRows } from '../../lib/live-rows.js'
import { t } from '../../lib/texts.js'
import { usePages } from '../../lib/use-pages.js'
import { Problem } from '../problem.js'

const keyOf = (row) => row.ReceiptID

/** Browsers read these as steps within a path, even if they are percent-encoded. */
const isStep = (text) => text === '.' || text === '..'

async function load({ customer, orderId }, { cursor, signal } = {}) {
  const data = isStep(orderId)
    ? await get('/Purchase/deliveries', { customer, orderId, cursor }, { signal })
    : await get(`/Purchase/detail/${encodeURIComponent(orderId)}`, { customer, cursor }, { signal })
  return { rows: data.Deliveries, next: data.NextCursor }
}

/** The deliveries of an order, newest first, kept up to date. */
export function useOrderHistory(order) {
  const pages = usePages((place) => load(order, place), [order], keyOf)
  const fits = (row) => row.OrderID === order.orderId && row.CustomerID === order.customer
  useLiveRows(pages, { fits, readFirst: () => load(order) })
  return pages
}

/** The delivery before another one: undefined until the history is read so far, null if there is none. */
export function deliveryBefore(pages, receiptId) {
  const { rows, next } = pages.state.value
  const index = rows.findIndex((row) => row.ReceiptID === receiptId)
  const before = index < 0 ? undefined : rows[index + 1]
  return before ?? (next === null ? null : undefined)
}

/** The deliveries of an order, newest first. */
export function Timeline({ pages, chosen, linkOf }) {
  const { rows, next, loading, error, held } = pages.state.value
  return html`
    <div class="timeline">
      <h2 id="timeline-title">${t('timeline.title')}</h2>
      <div class="timeline-box" tabindex="0" role="region" aria-labelledby="timeline-title">
        ${held.length > 0 && html`<button onClick=${() => pages.showHeld()}>${t('table.newer', { number: held.length, count: held.length })}</button>`}
        <ol aria-busy=${String(loading)}>
          ${rows.map(
            (row) => html`
              <li key=${row.ReceiptID} class="status-${row.Status}">
                <a href=${linkOf(row)} aria-current=${row.ReceiptID === chosen ? 'true' : undefined}>
                  <time datetime=${row.ReceivedAt}>${preciseTime(row.ReceivedAt)}</time>
                  <span>
                    ${statusBadge(row.Status)}
                    ${row.Duplicate && html` <span class="badge">${t('deliveries.echo')}</span>`}
                    ${row.Erased && html` <span class="note">${t('deliveries.erased')}</span>`}
                  </span>
                </a>
              </li>
            `,
          )}
        </ol>
        ${loading && html`<p class="note">${t('detail.loading')}</p>`}
        ${error && html`<${Problem} error=${error} again=${pages.more} />`}
        ${next && !loading && html`<button onClick=${pages.more}>${t('timeline.older')}</button>`}
      </div>
    </div>
  `
}
