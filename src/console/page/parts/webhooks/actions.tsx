import { MAX_OVERLAP_HOURS } from '#src/webhook/endpoints/limits.ts'
import { post } from '../../lib/api.ts'
import { go } from '../../lib/route.ts'
import { hasText, t } from '../../lib/texts.ts'
import { ActionForm, Field, numberOf, type Values } from '../action-form.tsx'
import { showDialog } from '../dialog.tsx'
import { showSecret } from './add.tsx'
import { Answer, Outcome } from './attempts.tsx'
import {
  type Attempt,
  about,
  type Closing,
  counted,
  type Endpoint,
  pathOf,
  pending,
  type Tested,
  type WithSecret,
} from './words.tsx'

/** What needs nothing but a confirmation. */
type Action = 'pause' | 'resume' | 'test' | 'remove'

interface Change {
  readonly action: Action
  readonly endpoint: Endpoint
  /** Gets the attempt of a test. */
  readonly done: (answer: Partial<Tested>) => void
}

export const changeEndpoint = (action: 'pause' | 'resume', endpoint: Endpoint, done: () => void): void =>
  showDialog<Change>(ChangeEndpoint, { action, endpoint, done })

const verbOf = (action: Action): string => t(action === 'remove' ? 'word.remove' : `webhook.${action}.verb`)

function ChangeEndpoint({ action, endpoint, done, close }: Change & Closing) {
  const { EndpointID, Pending, Waiting, PausedReason } = endpoint
  const warning = `webhook.resume.${PausedReason}`
  return (
    <ActionForm
      title={t(`webhook.${action}.title`)}
      verb={verbOf(action)}
      danger={action === 'remove'}
      run={() => post<Partial<Tested>>(pathOf(EndpointID, action))}
      done={done}
      close={close}
    >
      {action === 'resume' && hasText(warning) && <p class="warning">{t(warning)}</p>}
      <p>{about(`webhook.${action}.what`, endpoint, { number: Pending, count: pending(endpoint) })}</p>
      {action === 'remove' && Waiting > 0 && <p>{t('webhook.remove.waiting', counted(Waiting))}</p>}
    </ActionForm>
  )
}

export const testEndpoint = (endpoint: Endpoint, reload: () => void): void => {
  const done = ({ Attempt: attempt }: Partial<Tested>) => {
    reload()
    if (attempt) showDialog(TestOutcome, { endpoint, attempt })
  }
  showDialog<Change>(ChangeEndpoint, { action: 'test', endpoint, done })
}

interface TestOutcomeProps extends Closing {
  readonly endpoint: Endpoint
  readonly attempt: Attempt
}

const TestOutcome = ({ endpoint, attempt, close }: TestOutcomeProps) => (
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

export const removeEndpoint = (endpoint: Endpoint): void =>
  showDialog<Change>(ChangeEndpoint, { action: 'remove', endpoint, done: () => go('webhooks') })

interface RotateProps {
  readonly endpoint: Endpoint
  readonly done: () => void
}

export const rotateSecret = (endpoint: Endpoint, done: () => void): void => showDialog(RotateSecret, { endpoint, done })

function RotateSecret({ endpoint, done, close }: RotateProps & Closing) {
  const run = ({ OverlapHours = '' }: Values): Promise<WithSecret> =>
    post(pathOf(endpoint.EndpointID, 'rotateSecret'), { OverlapHours: numberOf(OverlapHours) })
  const show = (rotated: WithSecret) => {
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
            max={String(MAX_OVERLAP_HOURS)}
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
