import { html } from '../lib/html.js'
import { t } from '../lib/texts.js'

export const AuditView = () => html`<h1>${t('view.audit')}</h1>`
