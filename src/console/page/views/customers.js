import { html } from '../lib/html.js'
import { t } from '../lib/texts.js'

export const CustomersView = () => html`<h1>${t('view.customers')}</h1>`
