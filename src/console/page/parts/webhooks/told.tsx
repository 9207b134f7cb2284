import { foreign, statusBadge } from '../../lib/foreign.tsx'
import { dateTime } from '../../lib/format.ts'
import { setParameters, type ViewProps } from '../../lib/route.ts'
import { t } from '../../lib/texts.ts'
import { useGet } from '../../lib/use-query.ts'
import { Field } from '../action-form.tsx'
import { Loaded } from '../problem.tsx'
import { type ShortColumn, ShortTable } from '../short-table.tsx'
import { DeliveryLink, type Endpoint, milliseconds, nextTry, pathOf, type Told } from './words.tsx'

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
        class="line told"
        role="search"
        aria-label={t('webhook.told')}
        key={`${sent} ${of}`}
        onSubmit={(event) => {
          event.preventDefault()
          const given = new FormData(event.currentTarget)
          setParameters({ sent: String(given.get('sent')).trim(), of: String(given.get('of') ?? '').trim() })
        }}
      >
        <Field name="sent" required defaultValue={sent} label="webhook.told.field" />
        {endpoint.CustomerID === null && (
          <Field name="of" defaultValue={of} label="word.customer" hint="webhook.told.customerHint" />
        )}
        <button type="submit">{t('webhook.told.verb')}</button>
      </form>
      {sent && <Answer key={`${endpoint.EndpointID} ${sent} ${of}`} id={endpoint.EndpointID} sent={sent} of={of} />}
    </>
  )
}

function Answer({ id, sent, of }: { readonly id: string; readonly sent: string; readonly of: string }) {
  const query = RECEIPT.test(sent) ? { receiptId: sent } : { orderId: sent, ...(of && { customer: of }) }
  const read = useGet<Told>(pathOf(id, 'deliveries'), query, { isFresh: true })
  return (
    <Loaded read={read}>
      {({ Deliveries }) => (
        <ShortTable
          label={t('webhook.told')}
          look="attempts"
          columns={COLUMNS}
          rows={Deliveries}
          keyOf={({ ReceiptID }) => ReceiptID}
        />
      )}
    </Loaded>
  )
}

type Delivery = Told['Deliveries'][number]

const LOOKS: Partial<Record<Delivery['State'], string>> = {
  confirmed: 'good',
  failing: 'failed',
  'set-aside': 'failed',
  purged: 'warning',
}

const COLUMNS: readonly ShortColumn<Delivery>[] = [
  {
    title: 'word.order',
    cell: ({ State, ReceiptID, OrderID }) =>
      State === 'purged' ? <code>{ReceiptID}</code> : <DeliveryLink receipt={ReceiptID} order={OrderID} />,
  },
  {
    title: 'webhook.told.state',
    cell: ({ State }) => <span class={`badge ${LOOKS[State] ?? ''}`}>{t(`word.${State}`)}</span>,
  },
  { title: 'webhook.told.at', look: 'time', cell: ({ At }) => (At ? dateTime(At) : <span class="note">–</span>) },
  { title: 'word.answer', look: 'why', cell: (delivery) => <What delivery={delivery} /> },
  { title: 'word.received', look: 'time', cell: ({ ReceivedAt }) => ReceivedAt && dateTime(ReceivedAt) },
  {
    title: 'word.status',
    cell: ({ Status, Duplicate }) => (
      <>
        {Status !== null && statusBadge(Status)} {Duplicate && <span class="badge">{t('deliveries.echo')}</span>}
      </>
    ),
  },
]

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
      {t('webhook.told.failures', { count: Failures })} {error !== null && foreign(error)}
      {State === 'failing' && NextTryAt && (
        <>
          <br />
          {t('webhook.attempt.next')}: {nextTry(NextTryAt)}
        </>
      )}
    </>
  )
}
