import { html } from '../lib/html.js'
import { hasText, t } from '../lib/texts.js'

/** An error with what to do now: try again, or quote the request id. */
export function Problem({ error, again }) {
  const key = `error.${error.code}`
  return html`
    <div class="problem" role="alert">
      <p>${hasText(key) ? t(key) : error.message || t('error.unknown')}</p>
      ${error.requestId && html`<p class="note">${t('error.request')} <code>${error.requestId}</code></p>`}
      ${again && html`<button onClick=${again}>${t('error.again')}</button>`}
    </div>
  `
}
