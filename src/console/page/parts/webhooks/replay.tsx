import { post } from '../../lib/api.ts'
import { STATUSES, statusBadge } from '../../lib/foreign.tsx'
import { dateTime, whole, zoneName } from '../../lib/format.ts'
import { mayWrite } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'
import { ActionForm, Field } from '../action-form.tsx'
import { showDialog } from '../dialog.tsx'
import { timeOf } from '../filters.tsx'
import { Facts } from '../words.tsx'
import { Begin, fromOf, Statuses } from './add.tsx'
import { about, counted, pathOf } from './words.tsx'

/** The stretch that is being sent again. `done` gets a sentence about what was done. */
export function Replay({ endpoint, done }) {
  const { BeganAt, From, To, Statuses: statuses, Added, Percent } = endpoint.Replay
  const end = (time) => (time === null ? t('webhook.removed') : dateTime(time))
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

const send = (endpoint, body) => post(pathOf(endpoint.EndpointID, 'replay'), body)

const Cancel = ({ endpoint, done, close }) => (
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

/** Sends again what the operator chooses. `done` gets a sentence about it. */
export const replay = (endpoint, done) => showDialog(ChooseReplay, { endpoint, done })

const STRETCHES = ['time', 'start']

function ChooseReplay({ endpoint, done, close }) {
  const run = async (values) => {
    const { Deliveries } = await send(endpoint, bodyOf(values))
    const key = STRETCHES.includes(values.Begin) ? 'webhook.replayed.most' : 'webhook.replayed'
    return t(key, counted(Deliveries))
  }
  const choices = [...STRETCHES, 'order', 'receipt', ...(endpoint.SetAside > 0 ? ['setAside'] : [])]
  return (
    <ActionForm title={t('webhook.replay.title')} verb={t('word.sendAgain')} run={run} done={done} close={close}>
      {(problems) => (
        <Begin words="webhook.again" choices={choices} legend={t('webhook.replay.which')} problems={problems}>
          {(chosen) => (
            <>
              {STRETCHES.includes(chosen) && (
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
              {[...STRETCHES, 'order'].includes(chosen) && <Statuses key="statuses" problem={problems.Statuses} />}
              <p role="status">{about(`webhook.replay.what.${chosen}`, endpoint, counted(endpoint.SetAside))}</p>
            </>
          )}
        </Begin>
      )}
    </ActionForm>
  )
}

function bodyOf(values) {
  const { Begin: chosen, To = '', OrderID = '', Customer = '', ReceiptID = '' } = values
  if (chosen === 'setAside') return { SetAside: true }
  if (chosen === 'receipt') return { ReceiptID: ReceiptID.trim() }
  const statuses = STATUSES.filter((status) => values[`Status${status}`])
  const Statuses = statuses.length === STATUSES.length ? undefined : statuses
  if (chosen === 'order') return { OrderID: OrderID.trim(), Customer: Customer.trim() || undefined, Statuses }
  return { From: fromOf(values), To: timeOf(To) || undefined, Statuses }
}

/** Sends one delivery again, or with `receipt` left out everything that is set aside. */
export const replayThese = (endpoint, receipt, done) => showDialog(ReplayThese, { endpoint, receipt, done })

const ReplayThese = ({ endpoint, receipt, done, close }) => (
  <ActionForm
    title={t(receipt ? 'webhook.replay.oneTitle' : 'webhook.replay.asideTitle')}
    verb={t('word.sendAgain')}
    run={() => send(endpoint, receipt ? { ReceiptID: receipt } : { SetAside: true })}
    done={({ Deliveries }) => done(t('webhook.replayed', counted(Deliveries)))}
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
