import { post, useLoad } from '../../lib/api.js'
import { foreign } from '../../lib/foreign.js'
import { whole } from '../../lib/format.js'
import { html } from '../../lib/html.js'
import { messageText } from '../../lib/messages.js'
import { reloadView } from '../../lib/route.js'
import { mayWrite } from '../../lib/session.js'
import { t } from '../../lib/texts.js'
import { ActionForm } from '../action-form.js'
import { showDialog } from '../dialog.js'
import { Problem } from '../problem.js'

export const EraseDelivery = ({ delivery: { ReceiptID, Erased } }) =>
  !Erased && html`<${Button} what="delivery" name=${ReceiptID} path=${`/Operator/delivery/${ReceiptID}/erase`} />`

/** Browsers read these as steps within a path, even if they are percent-encoded. */
const isStep = (text) => text === '.' || text === '..'

export const EraseOrder = ({ customer, orderId }) =>
  !isStep(orderId) &&
  html`<${Button} what="order" name=${orderId} path=${`/Operator/order/${encodeURIComponent(orderId)}/erase`} body=${{ Customer: customer }} />`

const Button = (target) =>
  mayWrite.value &&
  html`
    <p class="buttons">
      <button class="danger" onClick=${() => showDialog(Erase, target)}>${t(`erase.${target.what}`)}</button>
    </p>
  `

/** Says what would be erased before anything is. */
function Erase({ what, name, path, body = {}, close }) {
  const { data, error } = useLoad(() => post(path, { ...body, DryRun: true }), [path, body])
  const done = ({ Left }) => {
    reloadView()
    if (Left !== null) showDialog(Rest, { left: Left })
  }
  return html`
    <${ActionForm}
      title=${t(`erase.${what}.title`)}
      verb=${t('erase.verb')}
      danger
      waiting=${data === undefined}
      run=${() => post(path, body)}
      done=${done}
      close=${close}
    >
      <p><b>${foreign(name)}</b></p>
      ${error && html`<${Problem} error=${error} />`}
      ${data === undefined ? !error && html`<p class="note" aria-busy="true">${t('erase.counting')}</p>` : html`<${Counted} what=${what} found=${data} />`}
    <//>
  `
}

const Counted = ({ what, found: { Deliveries, RefusedBodies, Unreached } }) => html`
  <h3>${t('erase.goes')}</h3>
  <ul>
    <li>${counted('erase.deliveries', Deliveries)}</li>
    <li>${counted('erase.bodies', RefusedBodies)}</li>
    <li>${t('erase.answers')}</li>
  </ul>
  <p>${t(`erase.${what}.also`)}</p>
  <h3>${t('erase.stays')}</h3>
  <p>${t('erase.kept')}</p>
  <h3>${t('erase.unreached')}</h3>
  <ul>${Unreached.map((each) => html`<li key=${each.Code}>${said(each)}</li>`)}</ul>
`

const counted = (key, number) => t(key, { number, count: whole(number) })

const said = ({ Message, Code: code, Values: values }) => messageText({ code, values }, Message)

/** What is left to do for an operator. */
const Rest = ({ left, close }) => html`
  <div class="action">
    <h2 id="dialog-title">${t('erase.left')}</h2>
    <p class="warning">${said(left)}</p>
    <p class="buttons"><button class="primary" autofocus onClick=${close}>${t('dialog.close')}</button></p>
  </div>
`
