import { html } from '../lib/html.js'
import { t } from '../lib/texts.js'

export const HealthView = () => html`<h1>${t('view.health')}</h1>`
