import { html } from '../lib/html.js'
import { t } from '../lib/texts.js'

export const OrderView = () => html`<h1>${t('view.order')}</h1>`
