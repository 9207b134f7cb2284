import { useMemo } from 'preact/hooks'
import { getBytes, useLoad } from '../../lib/api.ts'
import { customerName } from '../../lib/customers.tsx'
import { foreign, statusBadge } from '../../lib/foreign.tsx'
import { bytes, preciseTime, zoneName } from '../../lib/format.ts'
import { href, route, setParameters } from '../../lib/route.ts'
import { seesPayloads } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'
import { CopyButton, download } from '../export.tsx'
import { Problem } from '../problem.tsx'
import { AuditLink, Facts } from '../words.tsx'
import { curlOf } from './curl.tsx'
import { EraseDelivery } from './erase.tsx'
import { PayloadText } from './payload.tsx'
import { PayloadChanges, textOf } from './payload-changes.tsx'

/** Everything about one delivery. `before` is the one before it in its order, if that is known. */
export function DeliveryDetail({ delivery, before }) {
  return (
    <section class="delivery" aria-labelledby="delivery-title">
      <h2 id="delivery-title">{t('word.details')}</h2>
      <About delivery={delivery} before={before} />
      {delivery.Erased ? (
        <p class="empty">{erasedText(delivery)}</p>
      ) : seesPayloads.value ? (
        <Payload delivery={delivery} before={before} />
      ) : (
        <p class="empty">{t('detail.noPayload')}</p>
      )}
      <EraseDelivery delivery={delivery} />
    </section>
  )
}

function About({ delivery, before }) {
  const { ReceiptID, OrderID, CustomerID, Status, Duplicate, ReceivedAt, KeyID, KeyLabel, Address, RequestID } =
    delivery
  const facts = [
    [t('word.status'), statusBadge(Status)],
    [
      t('word.received'),
      <>
        <time datetime={ReceivedAt}>{preciseTime(ReceivedAt)}</time> <small>{zoneName()}</small>
      </>,
    ],
    [t('word.receipt'), <code>{ReceiptID}</code>],
    [t('word.order'), OrderID !== undefined && <a href={href('order', [CustomerID, OrderID])}>{foreign(OrderID)}</a>],
    [t('word.customer'), <a href={href('customer', [CustomerID])}>{customerName(CustomerID)}</a>],
    [
      t('detail.echoOf'),
      Duplicate &&
        (before ? (
          <a href={href('delivery', [before.ReceiptID])}>
            <code>{before.ReceiptID}</code>
          </a>
        ) : (
          t('detail.echo')
        )),
    ],
    [
      t('word.apiKey'),
      KeyID && (
        <>
          {foreign(KeyLabel)} <code>{KeyID}</code>
        </>
      ),
    ],
    [t('word.address'), Address && <code>{Address}</code>],
    [
      t('word.request'),
      RequestID && (
        <AuditLink of={{ requestId: RequestID }}>
          <code class="foreign">{RequestID}</code>
        </AuditLink>
      ),
    ],
  ]
  return <Facts facts={facts} />
}

/** With its customer, a delivery loses its order id, too. */
const erasedText = ({ OrderID }) => (OrderID === undefined ? t('detail.erased') : t('erase.done'))

function Payload({ delivery, before }) {
  const { ReceiptID } = delivery
  const path = `/Purchase/delivery/${ReceiptID}/payload`
  const { data, error, reload } = useLoad(
    (signal) => getBytes(path, { signal }).then((read) => ({ path, ...read })),
    [path],
  )
  // What was loaded before belongs to another delivery.
  const body = data?.path === path ? data.bytes : undefined
  const text = useMemo(() => body && textOf(body), [body])
  if (error?.code === 'PAYLOAD_ERASED') return <p class="empty">{erasedText(delivery)}</p>
  if (error) return <Problem error={error} again={reload} />
  if (body === undefined)
    return (
      <div class="payload skeleton" aria-busy="true">
        <span></span>
        <span></span>
        <span></span>
      </div>
    )
  const showChanges = before !== null && route.value.parameters.show === 'changes'
  const curl = curlOf({ origin: location.origin, receiptId: ReceiptID, text })
  return (
    <>
      <div class="payload-head">
        <h3>{t('payload.title')}</h3>
        {before !== null && (
          <div role="group" aria-label={t('payload.title')}>
            <button aria-pressed={String(!showChanges)} onClick={() => setParameters({ show: undefined })}>
              {t('payload.whole')}
            </button>
            <button aria-pressed={String(showChanges)} onClick={() => setParameters({ show: 'changes' })}>
              {t('changes.title')}
            </button>
          </div>
        )}
        <CopyButton text={text} label={t('word.copy')} />
        <button onClick={() => download(body, `${ReceiptID}.json`)}>{t('payload.download')}</button>
      </div>
      {showChanges ? <PayloadChanges text={text} before={before} /> : <PayloadText text={text} />}
      <Facts
        facts={[
          [t('payload.size'), bytes(body.length)],
          [t('payload.digest'), <code>{data?.digest}</code>],
        ]}
      />
      <h3>{t('detail.again')}</h3>
      <pre class="curl" tabindex="0" role="region" aria-label={t('detail.again')}>
        {curl}
      </pre>
      <CopyButton text={curl} label={t('detail.copyCommand')} />
    </>
  )
}
