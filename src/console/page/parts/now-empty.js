import { html } from '../lib/html.js'
import { t } from '../lib/texts.js'

const command = () =>
  `curl -s ${location.origin}/Purchase/update -H 'ApiKey: THE-KEY' \\\n  -d '{"OrderID":"PO-1","Status":2,"Products":[{"Sku":"SKU-1","Quantity":3}]}'`

/** Says how the first delivery is made. */
export const FirstDelivery = () => html`
  <div class="empty">
    <p>${t('now.empty')}</p>
    <pre tabindex="0" role="group" aria-label=${t('now.empty.command')}><code>${command()}</code></pre>
  </div>
`
