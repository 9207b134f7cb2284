import { preciseTime } from '../lib/format.js'
import { html } from '../lib/html.js'
import { t } from '../lib/texts.js'
import { Problem } from './problem.js'
import { statusBadge } from './status.js'

/** The deliveries of an order, newest first. */
export function Timeline({ pages, chosen, linkOf }) {
  const { rows, next, loading, error, held } = pages.state.value
  return html`
    <div class="timeline">
      <h2 id="timeline-title">${t('timeline.title')}</h2>
      <div class="timeline-box" tabindex="0" role="region" aria-labelledby="timeline-title">
        ${held.length > 0 && html`<button onClick=${() => pages.showHeld()}>${t('table.newer', { number: held.length, count: held.length })}</button>`}
        <ol aria-busy=${String(loading)}>
          ${rows.map(
            (row) => html`
              <li key=${row.ReceiptID} class="status-${row.Status}">
                <a href=${linkOf(row)} aria-current=${row.ReceiptID === chosen ? 'true' : undefined}>
                  <time datetime=${row.ReceivedAt}>${preciseTime(row.ReceivedAt)}</time>
                  <span>
                    ${statusBadge(row.Status)}
                    ${row.Duplicate && html` <span class="badge">${t('deliveries.echo')}</span>`}
                    ${row.Erased && html` <span class="note">${t('deliveries.erased')}</span>`}
                  </span>
                </a>
              </li>
            `,
          )}
        </ol>
        ${loading && html`<p class="note">${t('detail.loading')}</p>`}
        ${error && html`<${Problem} error=${error} again=${pages.more} />`}
        ${next && !loading && html`<button onClick=${pages.more}>${t('timeline.older')}</button>`}
      </div>
    </div>
  `
}
