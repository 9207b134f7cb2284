import { get } from '../../lib/api.ts'
import { foreign, statusBadge } from '../../lib/foreign.tsx'
import { dateTime } from '../../lib/format.ts'
import { setParameters, type ViewProps } from '../../lib/route.ts'
import { t } from '../../lib/texts.ts'
import { useQuery } from '../../lib/use-query.ts'
import { Field } from '../action-form.tsx'
import { Problem } from '../problem.tsx'
import { counted, DeliveryLink, type Endpoint, milliseconds, nextTry, pathOf, type Told } from './words.tsx'

const RECEIPT = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

interface WasItSentProps extends Pick<ViewProps, 'parameters'> {
  readonly endpoint: Endpoint
}

/** Asks what became of an order or a receipt, which stand in the address, at an endpoint. */
export function WasItSent({ endpoint, parameters: { sent = '', of = '' } }: WasItSentProps) {
  return (
    <>
      <p class="note">{t('webhook.told.about')}</p>
      <form
        class="told"
        role="search"
        aria-label={t('webhook.told')}
        key={`${sent} ${of}`}
        onSubmit={(event) => {
          event.preventDefault()
          const given = new FormData(event.currentTarget)
          setParameters({ sent: String(given.get('sent')).trim(), of: String(given.get('of') ?? '').trim() })
        }}
      >
        <Field name="sent" required defaultValue={sent} label={t('webhook.told.field')} />
        {endpoint.CustomerID === null && (
          <Field name="of" defaultValue={of} label={t('word.customer')} hint={t('webhook.told.customerHint')} />
        )}
        <button type="submit">{t('webhook.told.verb')}</button>
      </form>
      {sent && <Answer key={`${endpoint.EndpointID} ${sent} ${of}`} id={endpoint.EndpointID} sent={sent} of={of} />}
    </>
  )
}

const COLUMNS = [
  'word.order',
  'webhook.told.state',
  'webhook.told.at',
  'word.answer',
  'word.received',
  'word.status',
] as const

function Answer({ id, sent, of }: { readonly id: string; readonly sent: string; readonly of: string }) {
  const query = RECEIPT.test(sent) ? { receiptId: sent } : { orderId: sent, ...(of && { customer: of }) }
  const read = (signal: AbortSignal): Promise<Told> => get(pathOf(id, 'deliveries'), query, { signal })
  const { data, error, reload } = useQuery(read, [id, query], { isFresh: true })
  if (error) return <Problem error={error} again={reload} />
  if (data === undefined) return <div class="skeleton" aria-busy="true"></div>
  return (
    <div class="table" tabIndex={0} role="region" aria-label={t('webhook.told')}>
      <table class="attempts">
        <thead>
          <tr>
            {COLUMNS.map((name) => (
              <th key={name} scope="col">
                {t(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.Deliveries.map((delivery) => (
            <Row key={delivery.ReceiptID} delivery={delivery} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

type Delivery = Told['Deliveries'][number]

const LOOKS: Partial<Record<Delivery['State'], string>> = {
  confirmed: 'good',
  failing: 'failed',
  'set-aside': 'failed',
  purged: 'warning',
}

function Row({ delivery }: { readonly delivery: Delivery }) {
  const { ReceiptID, OrderID, Status, Duplicate, ReceivedAt, State, At } = delivery
  return (
    <tr>
      <td>{State === 'purged' ? <code>{ReceiptID}</code> : <DeliveryLink receipt={ReceiptID} order={OrderID} />}</td>
      <td>
        <span class={`badge ${LOOKS[State] ?? ''}`}>{t(`word.${State}`)}</span>
      </td>
      <td class="time">{At ? dateTime(At) : <span class="note">–</span>}</td>
      <td class="why">
        <What delivery={delivery} />
      </td>
      <td class="time">{ReceivedAt && dateTime(ReceivedAt)}</td>
      <td>
        {Status !== null && statusBadge(Status)} {Duplicate && <span class="badge">{t('deliveries.echo')}</span>}
      </td>
    </tr>
  )
}

function What({ delivery }: { readonly delivery: Delivery }) {
  const { State, AnswerStatus, Milliseconds, Failures, Error: error, NextTryAt } = delivery
  if (State === 'confirmed') {
    if (AnswerStatus === null || Milliseconds === null) return <>{t('webhook.told.longAgo')}</>
    return <>{t('webhook.told.answered', { status: AnswerStatus, time: milliseconds(Milliseconds) })}</>
  }
  if (State === 'waiting' || State === 'not-wanted' || State === 'purged')
    return <>{t(`webhook.told.${State}.about`)}</>
  return (
    <>
      {t('webhook.told.failures', counted(Failures))} {error !== null && foreign(error)}
      {State === 'failing' && NextTryAt && (
        <>
          <br />
          {t('webhook.attempt.next')}: {nextTry(NextTryAt)}
        </>
      )}
    </>
  )
}
