import { ago, dateTime, duration } from '../../lib/format.js'
import { html } from '../../lib/html.js'
import { t } from '../../lib/texts.js'

export const STATES = ['active', 'failing', 'paused']
const LOOKS = { active: 'good', failing: 'failed', paused: 'warning' }

export const stateOf = ({ State, FailingSince }) =>
  State === 'paused' ? 'paused' : FailingSince === null ? 'active' : 'failing'

/** What an endpoint does, and why it is paused. */
export function StateBadge({ endpoint }) {
  const state = stateOf(endpoint)
  const text = state === 'paused' ? `webhook.paused.${endpoint.PausedReason}` : `webhook.state.${state}`
  return html`<span class=${`badge ${LOOKS[state]}`}>${t(text)}</span>`
}

/** How long ago or in how long, with the exact time as a hint. */
export const when = (at) => at && html`<time datetime=${at} title=${dateTime(at)}>${ago(at)}</time>`

/** When something is tried again: a time that has come is now. */
export const nextTry = (at) => {
  const due = at && new Date(Math.max(Date.parse(at), Date.now())).toISOString()
  return at && html`<time datetime=${at} title=${dateTime(at)}>${ago(due)}</time>`
}

export const behind = ({ BehindSeconds }) => (BehindSeconds === 0 ? t('webhook.notBehind') : duration(BehindSeconds))

export const pathOf = (id, action) => `/Webhook/endpoint/${encodeURIComponent(id)}${action ? `/${action}` : ''}`
