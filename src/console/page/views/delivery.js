import { html } from '../lib/html.js'
import { t } from '../lib/texts.js'

export const DeliveryView = () => html`<h1>${t('view.delivery')}</h1>`
