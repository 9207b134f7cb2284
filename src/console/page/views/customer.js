import { html } from '../lib/html.js'
import { t } from '../lib/texts.js'

export const CustomerView = () => html`<h1>${t('view.customer')}</h1>`
