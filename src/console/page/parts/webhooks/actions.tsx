import { MAX_OVERLAP_HOURS } from '#src/webhook/endpoints/limits.ts'
import { post } from '../../lib/api.ts'
import { Sentence } from '../../lib/foreign.tsx'
import { go } from '../../lib/route.ts'
import { hasText, type TextKey, t } from '../../lib/texts.ts'
import { numberOf, Overlap, showAction } from '../action-form.tsx'
import { type Closing, Notice, showDialog } from '../dialog.tsx'
import { showEndpointSecret } from './add.tsx'
import { Answer, Outcome } from './attempts.tsx'
import { type Attempt, type Endpoint, pathOf, pending, type Tested, type WithSecret } from './words.tsx'

/** What needs nothing but a confirmation. */
type Action = 'pause' | 'resume' | 'test' | 'remove'

const VERBS: Readonly<Record<Action, TextKey>> = {
  pause: 'webhook.pause.verb',
  resume: 'webhook.resume.verb',
  test: 'webhook.test.verb',
  remove: 'word.remove',
}

/** `done` gets the attempt of a test. */
function confirm(action: Action, endpoint: Endpoint, done: (answer: Partial<Tested>) => void): void {
  const { EndpointID, URL: url, Pending, Waiting, PausedReason } = endpoint
  const warning = `webhook.resume.${PausedReason}`
  showAction({
    title: `webhook.${action}.title`,
    verb: VERBS[action],
    danger: action === 'remove',
    run: () => post<Partial<Tested>>(pathOf(EndpointID, action)),
    done,
    children: (
      <>
        {action === 'resume' && hasText(warning) && <Sentence text={warning} look="warning" />}
        <Sentence text={`webhook.${action}.what`} name={url} values={{ number: Pending, count: pending(endpoint) }} />
        {action === 'remove' && Waiting > 0 && <Sentence text="webhook.remove.waiting" values={{ count: Waiting }} />}
      </>
    ),
  })
}

export const changeEndpoint = (action: 'pause' | 'resume', endpoint: Endpoint, done: () => void): void =>
  confirm(action, endpoint, done)

export const testEndpoint = (endpoint: Endpoint, reload: () => void): void =>
  confirm('test', endpoint, ({ Attempt: attempt }) => {
    reload()
    if (attempt) showDialog(TestOutcome, { endpoint, attempt })
  })

interface TestOutcomeProps extends Closing {
  readonly endpoint: Endpoint
  readonly attempt: Attempt
}

const TestOutcome = ({ endpoint, attempt, close }: TestOutcomeProps) => (
  <Notice title={attempt.Error === null ? 'webhook.test.good' : 'webhook.test.bad'} close={close}>
    <Sentence text="webhook.test.sent" name={endpoint.URL} />
    <Outcome attempt={attempt} />
    {attempt.Response !== null && (
      <>
        <p class="note">{t('word.answer')}</p>
        <Answer text={attempt.Response} />
      </>
    )}
  </Notice>
)

export const removeEndpoint = (endpoint: Endpoint): void => confirm('remove', endpoint, () => go('webhooks'))

export const rotateSecret = (endpoint: Endpoint, done: () => void): void =>
  showAction({
    title: 'webhook.rotate.title',
    verb: 'webhook.rotate.verb',
    run: ({ OverlapHours }) =>
      post<WithSecret>(pathOf(endpoint.EndpointID, 'rotateSecret'), { OverlapHours: numberOf(OverlapHours) }),
    done(rotated) {
      done()
      showEndpointSecret(rotated)
    },
    children: (
      <>
        <Sentence text="webhook.rotate.what" name={endpoint.URL} />
        <Overlap max={String(MAX_OVERLAP_HOURS)} step="any" hint="webhook.rotate.hint" />
      </>
    ),
  })
