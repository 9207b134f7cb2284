import { html } from '../lib/html.js'
import { t } from '../lib/texts.js'

export const OrdersView = () => html`<h1>${t('view.orders')}</h1>`
