import { html } from '../lib/html.js'
import { t } from '../lib/texts.js'

export const DeliveriesView = () => html`<h1>${t('view.deliveries')}</h1>`
