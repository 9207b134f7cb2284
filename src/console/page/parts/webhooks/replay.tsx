import { post } from '../../lib/api.ts'
import { statusBadge } from '../../lib/foreign.tsx'
import { dateTime, whole, zoneName } from '../../lib/format.ts'
import { mayWrite } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'
import { ActionForm, Field, type Values } from '../action-form.tsx'
import { showDialog } from '../dialog.tsx'
import { timeOf } from '../filters.tsx'
import { Facts } from '../words.tsx'
import { Begin, filled, fromOf, Statuses, statusesOf } from './add.tsx'
import { about, type Closing, counted, type Endpoint, pathOf, type Replayed } from './words.tsx'

interface ReplayProps {
  readonly endpoint: Endpoint
  /** Gets a sentence about what was done. */
  readonly done: (text: string) => void
}

/** The stretch that is being sent again. */
export function Replay({ endpoint, done }: ReplayProps) {
  if (endpoint.Replay === null) return null
  const { BeganAt, From, To, Statuses: statuses, Added, Percent } = endpoint.Replay
  const end = (time: string | null) => (time === null ? t('webhook.removed') : dateTime(time))
  return (
    <section>
      <h2>{t('webhook.stretch')}</h2>
      <p class="stretch">
        <progress max="100" value={Percent} aria-label={t('webhook.stretch')}></progress>{' '}
        {t('webhook.stretch.percent', { percent: whole(Percent) })}
      </p>
      <Facts
        facts={[
          [t('webhook.stretch.from'), end(From)],
          [t('webhook.stretch.to'), end(To)],
          [t('word.status'), statuses?.map((status) => <span key={status}>{statusBadge(status)} </span>)],
          [t('webhook.stretch.added'), whole(Added)],
          [t('webhook.stretch.began'), dateTime(BeganAt)],
        ]}
      />
      {mayWrite.value && (
        <p>
          <button onClick={() => showDialog(Cancel, { endpoint, done })}>{t('webhook.stretch.cancel')}</button>
        </p>
      )}
    </section>
  )
}

const send = (endpoint: Endpoint, body: object): Promise<Replayed> => post(pathOf(endpoint.EndpointID, 'replay'), body)

const Cancel = ({ endpoint, done, close }: ReplayProps & Closing) => (
  <ActionForm
    title={t('webhook.stretch.cancelTitle')}
    verb={t('webhook.stretch.cancel')}
    run={() => send(endpoint, { Cancel: true })}
    done={() => done(t('webhook.stretch.cancelled'))}
    close={close}
  >
    <p>{about('webhook.stretch.cancelWhat', endpoint)}</p>
  </ActionForm>
)

/** Sends again what the operator chooses. */
export const replay = (endpoint: Endpoint, done: ReplayProps['done']): void =>
  showDialog(ChooseReplay, { endpoint, done })

const CHOICES = [
  ['time', 'webhook.again.time'],
  ['start', 'webhook.again.start'],
  ['order', 'webhook.again.order'],
  ['receipt', 'webhook.again.receipt'],
  ['setAside', 'webhook.again.setAside'],
] as const
const isStretch = (chosen = ''): boolean => chosen === 'time' || chosen === 'start'

function ChooseReplay({ endpoint, done, close }: ReplayProps & Closing) {
  const run = async (values: Values): Promise<string> => {
    const { Deliveries } = await send(endpoint, bodyOf(values))
    return t(isStretch(values.Begin) ? 'webhook.replayed.most' : 'webhook.replayed', counted(Deliveries))
  }
  const choices = CHOICES.filter(([choice]) => choice !== 'setAside' || endpoint.SetAside > 0)
  return (
    <ActionForm title={t('webhook.replay.title')} verb={t('word.sendAgain')} run={run} done={done} close={close}>
      {(problems) => (
        <Begin choices={choices} legend={t('webhook.replay.which')} problems={problems}>
          {(chosen) => (
            <>
              {isStretch(chosen) && (
                <Field
                  key="to"
                  name="To"
                  type="datetime-local"
                  step="1"
                  label={t('webhook.again.to', { zone: zoneName() })}
                  hint={t('webhook.again.toHint')}
                  problems={problems}
                />
              )}
              {chosen === 'order' && (
                <Field key="order" name="OrderID" required label={t('webhook.again.orderField')} problems={problems} />
              )}
              {chosen === 'order' && endpoint.CustomerID === null && (
                <Field
                  key="customer"
                  name="Customer"
                  label={t('word.customer')}
                  hint={t('webhook.told.customerHint')}
                  problems={problems}
                />
              )}
              {(isStretch(chosen) || chosen === 'order') && <Statuses key="statuses" problem={problems.Statuses} />}
              <p role="status">{about(`webhook.replay.what.${chosen}`, endpoint, counted(endpoint.SetAside))}</p>
            </>
          )}
        </Begin>
      )}
    </ActionForm>
  )
}

function bodyOf(values: Values): object {
  const { Begin: chosen, To = '', OrderID = '', Customer, ReceiptID = '' } = values
  if (chosen === 'setAside') return { SetAside: true }
  if (chosen === 'receipt') return { ReceiptID: ReceiptID.trim() }
  const Statuses = statusesOf(values)
  if (chosen === 'order') return { OrderID: OrderID.trim(), Customer: filled(Customer), Statuses }
  return { From: fromOf(values), To: timeOf(To) || undefined, Statuses }
}

interface TheseProps extends ReplayProps {
  /** One delivery; everything that is set aside if it is left out. */
  readonly receipt?: string
}

export const replayThese = (props: TheseProps): void => showDialog(ReplayThese, props)

const ReplayThese = ({ endpoint, receipt, done, close }: TheseProps & Closing) => (
  <ActionForm
    title={t(receipt ? 'webhook.replay.oneTitle' : 'webhook.replay.asideTitle')}
    verb={t('word.sendAgain')}
    run={() => send(endpoint, receipt ? { ReceiptID: receipt } : { SetAside: true })}
    done={({ Deliveries }: Replayed) => done(t('webhook.replayed', counted(Deliveries)))}
    close={close}
  >
    <p>
      {about(
        receipt ? 'webhook.replay.what.receipt' : 'webhook.replay.what.setAside',
        endpoint,
        counted(endpoint.SetAside),
      )}
    </p>
    {receipt && (
      <p>
        <code>{receipt}</code>
      </p>
    )}
  </ActionForm>
)
