import { curlOf } from '../lib/curl.js'
import { html } from '../lib/html.js'

const EXAMPLE = '{"OrderID":"PO-1","Status":2,"Products":[{"Sku":"SKU-1","Quantity":3}]}'

/** Shows how to make the first delivery. */
export const FirstDelivery = ({ text }) => html`
  <p>${text}</p>
  <pre tabindex="0" role="region" aria-label="curl">${curlOf({ origin: location.origin, text: EXAMPLE })}</pre>
`
