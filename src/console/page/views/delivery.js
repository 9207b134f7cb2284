import { get, useLoad } from '../lib/api.js'
import { html } from '../lib/html.js'
import { href, route } from '../lib/route.js'
import { t } from '../lib/texts.js'
import { DeliveryDetail } from '../parts/delivery/detail.js'
import { deliveryBefore, Timeline, useOrderHistory } from '../parts/delivery/timeline.js'
import { Problem } from '../parts/problem.js'

export function DeliveryView({ parts: [receiptId = ''] }) {
  const path = `/Purchase/delivery/${encodeURIComponent(receiptId)}`
  const { data, error, reload } = useLoad((signal) => get(path, {}, { signal }), [path])
  return html`
    <h1>${t('view.delivery')} <code class="foreign">${receiptId}</code></h1>
    ${error && html`<${Problem} error=${error} again=${reload} />`}
    ${data === undefined ? !error && html`<p class="note" aria-busy="true">${t('detail.loading')}</p>` : html`<${WithOrder} delivery=${data} />`}
  `
}

function WithOrder({ delivery }) {
  if (delivery.OrderID === undefined) return html`<${DeliveryDetail} delivery=${delivery} before=${null} />`
  return html`<${WithTimeline} delivery=${delivery} />`
}

function WithTimeline({ delivery }) {
  const pages = useOrderHistory({ customer: delivery.CustomerID, orderId: delivery.OrderID })
  const { show } = route.value.parameters
  const linkOf = (row) =>
    row.RefusalID === undefined
      ? href('delivery', [row.ReceiptID], { show })
      : href('order', [delivery.CustomerID, delivery.OrderID], { refusal: row.RefusalID })
  return html`
    <div class="beside">
      <${Timeline} pages=${pages} chosen=${delivery.ReceiptID} linkOf=${linkOf} />
      <${DeliveryDetail} delivery=${delivery} before=${deliveryBefore(pages, delivery.ReceiptID)} />
    </div>
  `
}
