import { post } from '../../lib/api.ts'
import { go } from '../../lib/route.ts'
import { hasText, t } from '../../lib/texts.ts'
import { ActionForm, Field, numberOf } from '../action-form.tsx'
import { showDialog } from '../dialog.tsx'
import { showSecret } from './add.tsx'
import { Answer, Outcome } from './attempts.tsx'
import { about, counted, pathOf, pending } from './words.tsx'

/** Actions that need nothing but a confirmation, and whether they take something away. */
const SIMPLE = { pause: false, resume: false, test: false, remove: true }

/** `action` is `pause`, `resume`, `test` or `remove`. `done` gets the answer. */
export const changeEndpoint = (action, endpoint, done) => showDialog(ChangeEndpoint, { action, endpoint, done })

function ChangeEndpoint({ action, endpoint, done, close }) {
  const { EndpointID, Pending, Waiting, PausedReason } = endpoint
  const warning = `webhook.resume.${PausedReason}`
  const waiting = action === 'remove' && Waiting > 0 && t('webhook.remove.waiting', counted(Waiting))
  return (
    <ActionForm
      title={t(`webhook.${action}.title`)}
      verb={t(`webhook.${action}.verb`)}
      danger={SIMPLE[action]}
      run={() => post(pathOf(EndpointID, action))}
      done={done}
      close={close}
    >
      {action === 'resume' && hasText(warning) && <p class="warning">{t(warning)}</p>}
      <p>{about(`webhook.${action}.what`, endpoint, { number: Pending, count: pending(endpoint) })}</p>
      {waiting && <p>{waiting}</p>}
    </ActionForm>
  )
}

export const testEndpoint = (endpoint, done) =>
  changeEndpoint('test', endpoint, ({ Attempt }) => {
    done()
    showDialog(Tested, { endpoint, attempt: Attempt })
  })

const Tested = ({ endpoint, attempt, close }) => (
  <div class="action">
    <h2 id="dialog-title">{t(attempt.Error === null ? 'webhook.test.good' : 'webhook.test.bad')}</h2>
    <p>{about('webhook.test.sent', endpoint)}</p>
    <Outcome attempt={attempt} />
    {attempt.Response !== null && (
      <>
        <p class="note">{t('word.answer')}</p>
        <Answer text={attempt.Response} />
      </>
    )}
    <p class="buttons">
      <button class="primary" autofocus onClick={close}>
        {t('word.close')}
      </button>
    </p>
  </div>
)

export const removeEndpoint = (endpoint) => changeEndpoint('remove', endpoint, () => go('webhooks'))

export const rotateSecret = (endpoint, done) => showDialog(RotateSecret, { endpoint, done })

function RotateSecret({ endpoint, done, close }) {
  const run = ({ OverlapHours }) =>
    post(pathOf(endpoint.EndpointID, 'rotateSecret'), { OverlapHours: numberOf(OverlapHours) })
  const show = (rotated) => {
    done()
    showSecret(rotated)
  }
  return (
    <ActionForm title={t('webhook.rotate.title')} verb={t('webhook.rotate.verb')} run={run} done={show} close={close}>
      {(problems) => (
        <>
          <p>{about('webhook.rotate.what', endpoint)}</p>
          <Field
            name="OverlapHours"
            type="number"
            min="0"
            max="8784"
            step="any"
            required
            autofocus
            defaultValue="24"
            label={t('key.overlap')}
            hint={t('webhook.rotate.hint')}
            problems={problems}
          />
        </>
      )}
    </ActionForm>
  )
}
