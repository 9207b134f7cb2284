import { getBytes, useLoad } from '../lib/api.js'
import { foreign } from '../lib/foreign.js'
import { bytes, preciseTime } from '../lib/format.js'
import { html } from '../lib/html.js'
import { messageText } from '../lib/messages.js'
import { href } from '../lib/route.js'
import { seesPayloads } from '../lib/session.js'
import { hasText, t } from '../lib/texts.js'
import { PayloadText } from './delivery/payload.js'
import { Problem } from './problem.js'
import { AuditLink, CustomerLink, Facts, OrderLink } from './words.js'

/** What the supplier was told. */
export const messageOf = ({ Message, MessageCode: code, MessageValues: values }) =>
  code === undefined ? Message : messageText({ code, values }, Message)

/** What only operators know, such as whether a key was revoked. */
const reasonOf = ({ Reason, ReasonCode: code, ReasonValues: values }) => Reason && messageText({ code, values }, Reason)

export function whyRefused(refusal) {
  const reason = reasonOf(refusal)
  return reason ? `${messageOf(refusal)} (${reason})` : messageOf(refusal)
}

/** What an operator can do about an error code. */
export function whatToDo(code) {
  const key = `refusal.do.${code.startsWith('TOKEN_') ? 'TOKEN' : code}`
  return t(hasText(key) ? key : 'refusal.do.anything')
}

/** Everything about one refusal, and its body if it was kept. */
export function RefusalDetail({ refusal }) {
  const { RefusedAt, ErrorCode, CustomerID, OrderID, RequestID, KeyID, KeyLabel, PayloadBytes, RefusalID } = refusal
  const reason = reasonOf(refusal)
  const facts = [
    [t('refusals.at'), preciseTime(RefusedAt)],
    [t('refusals.reason'), reason && foreign(reason)],
    [t('refusals.customer'), html`<${CustomerLink} id=${CustomerID} />`],
    OrderID !== undefined && [t('refusals.order'), html`<${OrderLink} customer=${CustomerID} order=${OrderID} />`],
    KeyID && [
      t('refusals.key'),
      html`<a href=${href('customer', [CustomerID], { key: KeyID })}>${foreign(KeyLabel || KeyID)}</a>`,
    ],
    [t('refusals.request'), html`<${AuditLink} of=${{ requestId: RequestID }}><code>${RequestID}</code><//>`],
    [t('refusals.id'), html`<code>${RefusalID}</code>`],
  ]
  return html`
    <p>${foreign(messageOf(refusal))}</p>
    <p class="note">${whatToDo(ErrorCode)}</p>
    <${Facts} facts=${facts} />
    <h2>${t('refusals.body')}${PayloadBytes !== undefined && html` <small>${bytes(PayloadBytes)}</small>`}</h2>
    ${PayloadBytes === undefined ? html`<p class="empty">${t('refusals.notKept')}</p>` : seesPayloads.value ? html`<${Body} id=${RefusalID} />` : html`<p class="empty">${t('detail.noPayload')}</p>`}
  `
}

function Body({ id }) {
  const path = `/Purchase/refusal/${encodeURIComponent(id)}/payload`
  const { data, error, reload } = useLoad((signal) => getBytes(path, { signal }), [path])
  if (error) return html`<${Problem} error=${error} again=${reload} />`
  if (data === undefined) return html`<div class="skeleton" aria-busy="true"></div>`
  return html`<${PayloadText} text=${new TextDecoder().decode(data)} />`
}
