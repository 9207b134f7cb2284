import { get } from '../../lib/api.ts'
import { foreign, statusBadge } from '../../lib/foreign.tsx'
import { dateTime, whole } from '../../lib/format.ts'
import { setParameters } from '../../lib/route.ts'
import { t } from '../../lib/texts.ts'
import { useQuery } from '../../lib/use-query.ts'
import { Field } from '../action-form.tsx'
import { Problem } from '../problem.tsx'
import { DeliveryLink, milliseconds } from './attempts.tsx'
import { nextTry, pathOf } from './words.tsx'

const RECEIPT = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Asks what became of an order or a receipt, which stand in the address, at an endpoint. */
export function Told({ endpoint, parameters: { sent = '', of = '' } }) {
  const ask = (event) => {
    event.preventDefault()
    const given = new FormData(event.currentTarget)
    setParameters({ sent: String(given.get('sent')).trim(), of: String(given.get('of') ?? '').trim() })
  }
  return (
    <>
      <p class="note">{t('webhook.told.about')}</p>
      <form class="told" role="search" aria-label={t('webhook.told')} key={`${sent} ${of}`} onSubmit={ask}>
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
  'webhook.told.state',
  'webhook.told.at',
  'word.answer',
  'word.received',
  'word.status',
  'word.delivery',
] as const

function Answer({ id, sent, of }) {
  const query = RECEIPT.test(sent) ? { receiptId: sent } : { orderId: sent, ...(of && { customer: of }) }
  const { data, error, reload } = useQuery((signal) => get(pathOf(id, 'deliveries'), query, { signal }), [id, query], {
    isFresh: true,
  })
  if (error) return <Problem error={error} again={reload} />
  if (data === undefined) return <div class="skeleton" aria-busy="true"></div>
  return (
    <div class="table" tabindex="0" role="region" aria-label={t('webhook.told')}>
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

const LOOKS = { confirmed: 'good', failing: 'failed', 'set-aside': 'failed', purged: 'warning' }

function Row({ delivery: { ReceiptID, Status, Duplicate, ReceivedAt, State, At, ...more } }) {
  return (
    <tr>
      <td>
        <span class={`badge ${LOOKS[State] ?? ''}`}>{t(`word.${State}`)}</span>
      </td>
      <td class="time">{At ? dateTime(At) : <span class="note">–</span>}</td>
      <td class="why">
        <What state={State} {...more} />
      </td>
      <td class="time">{ReceivedAt && dateTime(ReceivedAt)}</td>
      <td>
        {Status !== null && statusBadge(Status)} {Duplicate && <span class="badge">{t('deliveries.echo')}</span>}
      </td>
      <td>{State === 'purged' ? <code>{ReceiptID}</code> : <DeliveryLink receipt={ReceiptID} />}</td>
    </tr>
  )
}

function What({ state, AnswerStatus, Milliseconds, Failures, Error: error, NextTryAt }) {
  if (state === 'confirmed') {
    if (AnswerStatus === null) return t('webhook.told.longAgo')
    return t('webhook.told.answered', { status: AnswerStatus, time: milliseconds(Milliseconds) })
  }
  if (Failures === 0) return t(`webhook.told.${state}.about`)
  return (
    <>
      {t('webhook.told.failures', { number: Failures, count: whole(Failures) })} {error !== null && foreign(error)}
      {state === 'failing' && NextTryAt && (
        <>
          <br />
          {t('webhook.attempt.next')}: {nextTry(NextTryAt)}
        </>
      )}
    </>
  )
}
