import { html } from '../lib/html.js'
import { t } from '../lib/texts.js'

export const RefusalsView = () => html`<h1>${t('view.refusals')}</h1>`
