import { ago, dateTime, duration, whole } from '../../lib/format.ts'
import { t } from '../../lib/texts.ts'
import { HOLE, withForeign } from '../action-form.tsx'

export const STATES = ['active', 'failing', 'behind', 'paused']
const LOOKS = { active: 'good', failing: 'failed', behind: 'warning', paused: 'warning' }

/** What an endpoint does, and why it is paused. */
export function StateBadge({ endpoint: { State, PausedReason } }) {
  const text = State === 'paused' ? `webhook.paused.${PausedReason}` : `word.${State}`
  return <span class={`badge ${LOOKS[State]}`}>{t(text)}</span>
}

/** How much is pending, if need be as a lower bound. */
export const pending = ({ Pending, PendingAtLeast }) =>
  PendingAtLeast ? t('webhook.pending.least', { count: whole(Pending) }) : whole(Pending)

/** How long ago or in how long, with the exact time as a hint. */
export const when = (at) =>
  at && (
    <time datetime={at} title={dateTime(at)}>
      {ago(at)}
    </time>
  )

/** When something is tried again: a time that has come is now. */
export const nextTry = (at) => {
  const due = at && new Date(Math.max(Date.parse(at), Date.now())).toISOString()
  return (
    at && (
      <time datetime={at} title={dateTime(at)}>
        {ago(due)}
      </time>
    )
  )
}

export const behind = ({ BehindSeconds }) => (BehindSeconds === 0 ? t('webhook.notBehind') : duration(BehindSeconds))

export const pathOf = (id, action) => `/Webhook/endpoint/${encodeURIComponent(id)}${action ? `/${action}` : ''}`

/** A sentence about an endpoint, which it names by its URL. */
export const about = (key, { URL: url }, values = {}) => withForeign(t(key, { url: HOLE, ...values }), url)

export const counted = (number) => ({ number, count: whole(number) })
