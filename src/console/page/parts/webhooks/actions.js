import { post } from '../../lib/api.js'
import { whole } from '../../lib/format.js'
import { html } from '../../lib/html.js'
import { go } from '../../lib/route.js'
import { hasText, t } from '../../lib/texts.js'
import { ActionForm, Field, HOLE, numberOf, withForeign } from '../action-form.js'
import { showDialog } from '../dialog.js'
import { Begin, fromOf, showSecret } from './add.js'
import { Answer, Outcome } from './attempts.js'
import { pathOf } from './words.js'

/** A sentence about an endpoint, which it names by its URL. */
const about = (key, { URL: url }, values = {}) => withForeign(t(key, { url: HOLE, ...values }), url)

const counted = (number) => ({ number, count: whole(number) })

/** Actions that need nothing but a confirmation, and whether they take something away. */
const SIMPLE = { pause: false, resume: false, test: false, remove: true }

/** `action` is `pause`, `resume`, `test` or `remove`. `done` gets the answer. */
export const changeEndpoint = (action, endpoint, done) => showDialog(ChangeEndpoint, { action, endpoint, done })

function ChangeEndpoint({ action, endpoint, done, close }) {
  const { EndpointID, Pending, Waiting, PausedReason } = endpoint
  const warning = `webhook.resume.${PausedReason}`
  const waiting = action === 'remove' && Waiting > 0 && t('webhook.remove.waiting', counted(Waiting))
  return html`
    <${ActionForm}
      title=${t(`webhook.${action}.title`)}
      verb=${t(`webhook.${action}.verb`)}
      danger=${SIMPLE[action]}
      run=${() => post(pathOf(EndpointID, action))}
      done=${done}
      close=${close}
    >
      ${action === 'resume' && hasText(warning) && html`<p class="warning">${t(warning)}</p>`}
      <p>${about(`webhook.${action}.what`, endpoint, counted(Pending))}</p>
      ${waiting && html`<p>${waiting}</p>`}
    <//>
  `
}

export const testEndpoint = (endpoint, done) =>
  changeEndpoint('test', endpoint, ({ Attempt }) => {
    done()
    showDialog(Tested, { endpoint, attempt: Attempt })
  })

const Tested = ({ endpoint, attempt, close }) => html`
  <div class="action">
    <h2 id="dialog-title">${t(attempt.Error === null ? 'webhook.test.good' : 'webhook.test.bad')}</h2>
    <p>${about('webhook.test.sent', endpoint)}</p>
    <${Outcome} attempt=${attempt} />
    ${attempt.Response !== null && html`<p class="note">${t('webhook.attempt.response')}</p><${Answer} text=${attempt.Response} />`}
    <p class="buttons"><button class="primary" autofocus onClick=${close}>${t('dialog.close')}</button></p>
  </div>
`

export const removeEndpoint = (endpoint) => changeEndpoint('remove', endpoint, () => go('webhooks'))

export const rotateSecret = (endpoint, done) => showDialog(RotateSecret, { endpoint, done })

function RotateSecret({ endpoint, done, close }) {
  const run = ({ OverlapHours }) =>
    post(pathOf(endpoint.EndpointID, 'rotateSecret'), { OverlapHours: numberOf(OverlapHours) })
  const show = (rotated) => {
    done()
    showSecret(rotated)
  }
  return html`
    <${ActionForm} title=${t('webhook.rotate.title')} verb=${t('webhook.rotate.verb')} run=${run} done=${show} close=${close}>
      ${(problems) => html`
        <p>${about('webhook.rotate.what', endpoint)}</p>
        <${Field} name="OverlapHours" type="number" min="0" max="8784" step="any" required autofocus defaultValue="24" label=${t('key.overlap')} hint=${t('webhook.rotate.hint')} problems=${problems} />
      `}
    <//>
  `
}

/** Sends again what the operator chooses. `done` gets the number of deliveries. */
export const replay = (endpoint, done) => showDialog(Replay, { endpoint, done })

function Replay({ endpoint, done, close }) {
  const run = ({ Begin: chosen, From, ReceiptID }) =>
    post(pathOf(endpoint.EndpointID, 'replay'), bodyOf(chosen, From, ReceiptID))
  const choices = ['time', 'start', 'receipt', ...(endpoint.SetAside > 0 ? ['setAside'] : [])]
  return html`
    <${ActionForm} title=${t('webhook.replay.title')} verb=${t('webhook.replay.verb')} run=${run} done=${({ Deliveries }) => done(Deliveries)} close=${close}>
      ${(problems) => html`
        <${Begin} words="webhook.again" choices=${choices} legend=${t('webhook.replay.which')} problems=${problems}>
          ${(chosen) => html`
            <p role="status">${about(`webhook.replay.what.${chosen}`, endpoint, counted(endpoint.SetAside))}</p>`}
        <//>
      `}
    <//>
  `
}

function bodyOf(chosen, from, receipt) {
  if (chosen === 'setAside') return { SetAside: true }
  if (chosen === 'receipt') return { ReceiptID: receipt.trim() }
  return { From: fromOf({ Begin: chosen, From: from }) }
}

/** Sends one delivery again, or with `receipt` left out everything that is set aside. */
export const replayThese = (endpoint, receipt, done) => showDialog(ReplayThese, { endpoint, receipt, done })

const ReplayThese = ({ endpoint, receipt, done, close }) => html`
  <${ActionForm}
    title=${t(receipt ? 'webhook.replay.oneTitle' : 'webhook.replay.asideTitle')}
    verb=${t('webhook.replay.verb')}
    run=${() => post(pathOf(endpoint.EndpointID, 'replay'), bodyOf(receipt ? 'receipt' : 'setAside', undefined, receipt))}
    done=${({ Deliveries }) => done(Deliveries)}
    close=${close}
  >
    <p>${about(receipt ? 'webhook.replay.what.receipt' : 'webhook.replay.what.setAside', endpoint, counted(endpoint.SetAside))}</p>
    ${receipt && html`<p><code>${receipt}</code></p>`}
  <//>
`
