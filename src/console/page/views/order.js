import { get, useLoad } from '../lib/api.js'
import { customerName } from '../lib/customers.js'
import { foreign, statusBadge } from '../lib/foreign.js'
import { html } from '../lib/html.js'
import { href } from '../lib/route.js'
import { t } from '../lib/texts.js'
import { DeliveryDetail } from '../parts/delivery/detail.js'
import { EraseOrder } from '../parts/delivery/erase.js'
import { deliveryBefore, Timeline, useOrderHistory } from '../parts/delivery/timeline.js'
import { Problem } from '../parts/problem.js'

/** An order: its history beside the chosen delivery, which is the newest one at first. */
export function OrderView({ parts: [customer = '', orderId = ''], parameters }) {
  const pages = useOrderHistory({ customer, orderId })
  const { rows, error } = pages.state.value
  // An echo does not change the order.
  const current = rows.find((row) => !row.Duplicate) ?? rows[0]
  const chosen = parameters.delivery ?? rows[0]?.ReceiptID
  const linkOf = (row) => href('order', [customer, orderId], { show: parameters.show, delivery: row.ReceiptID })
  return html`
    <h1>${t('view.order')} ${foreign(orderId)}</h1>
    <p>
      ${current && statusBadge(current.Status)} <a href=${href('customer', [customer])}>${customerName(customer)}</a>
    </p>
    ${
      error && rows.length === 0
        ? html`<${Problem} error=${error} again=${pages.more} />`
        : html`
            <div class="beside">
              <${Timeline} pages=${pages} chosen=${chosen} linkOf=${linkOf} />
              ${chosen && html`<${Chosen} key=${chosen} receiptId=${chosen} before=${deliveryBefore(pages, chosen)} />`}
            </div>
            <${EraseOrder} customer=${customer} orderId=${orderId} />
          `
    }
  `
}

function Chosen({ receiptId, before }) {
  const path = `/Purchase/delivery/${encodeURIComponent(receiptId)}`
  const { data, error, reload } = useLoad((signal) => get(path, {}, { signal }), [path])
  if (error) return html`<${Problem} error=${error} again=${reload} />`
  if (data === undefined) return html`<p class="note" aria-busy="true">${t('detail.loading')}</p>`
  return html`<${DeliveryDetail} delivery=${data} before=${before} />`
}
