import { html } from '../lib/html.js'
import { t } from '../lib/texts.js'

export const NowView = () => html`<h1>${t('view.now')}</h1>`
