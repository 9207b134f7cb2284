import type { Static } from '@sinclair/typebox'
import { useMemo } from 'preact/hooks'
import type { DeliveryOriginSchema } from '#src/purchase/purchase.schema.ts'
import { getBytes } from '../../lib/api.ts'
import { customerName } from '../../lib/customers.tsx'
import { foreign, statusBadge } from '../../lib/foreign.tsx'
import { ago, bytes, preciseTime, zoneName } from '../../lib/format.ts'
import { href, route, setParameters } from '../../lib/route.ts'
import { seesPayloads } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'
import { useGet, useQuery } from '../../lib/use-query.ts'
import { CopyButton } from '../copy.tsx'
import { save } from '../export-menu.tsx'
import { Problem } from '../problem.tsx'
import { AuditLink, Facts, More } from '../words.tsx'
import { curlOf } from './curl.tsx'
import { EraseDelivery } from './erase.tsx'
import { PayloadText } from './payload.tsx'
import { type Before, PayloadChanges, textOf } from './payload-changes.tsx'

export type Delivery = Static<typeof DeliveryOriginSchema>

export const useDelivery = (receiptId: string) =>
  useGet<Delivery>(`/Purchase/delivery/${encodeURIComponent(receiptId)}`)

interface DetailProperties {
  readonly delivery: Delivery
  /** The one before it in its order; undefined until it is known, null if there is none. */
  readonly before: Before | null | undefined
}

export function DeliveryDetail({ delivery, before }: DetailProperties) {
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
      {!delivery.Erased && <EraseDelivery receipt={delivery.ReceiptID} />}
    </section>
  )
}

function About({ delivery, before }: DetailProperties) {
  const { ReceiptID, OrderID, CustomerID, Status, Duplicate, ReceivedAt, KeyID, KeyLabel, Address, RequestID } =
    delivery
  return (
    <>
      <Facts
        facts={[
          [t('word.status'), [statusBadge(Status), ' ', <small>{Status}</small>]],
          OrderID !== undefined && [
            t('word.order'),
            <a href={href('order', [CustomerID, OrderID])}>{foreign(OrderID)}</a>,
            OrderID,
          ],
          [
            t('word.customer'),
            <a href={href('customer', [CustomerID])}>{customerName(CustomerID, delivery.Customer)}</a>,
          ],
          [
            t('word.received'),
            [
              <time dateTime={ReceivedAt}>{preciseTime(ReceivedAt)}</time>,
              ' ',
              <small>
                {zoneName()}, {ago(ReceivedAt)}
              </small>,
            ],
            ReceivedAt,
          ],
          Duplicate && [
            t('detail.echoOf'),
            before ? (
              <a href={href('delivery', [before.ReceiptID])}>{preciseTime(before.ReceivedAt)}</a>
            ) : (
              t('detail.echo')
            ),
          ],
          KeyID !== null && [t('word.apiKey'), foreign(KeyLabel || t('key.noLabel'))],
          Address !== null && [t('word.address'), <code>{Address}</code>, Address],
          [t('word.receipt'), <code>{ReceiptID}</code>, ReceiptID],
        ]}
      />
      <More
        facts={[
          KeyID !== null && [t('word.apiKey'), <code>{KeyID}</code>, KeyID],
          RequestID !== null && [
            t('word.request'),
            <AuditLink of={{ requestId: RequestID }}>
              <code class="foreign">{RequestID}</code>
            </AuditLink>,
            RequestID,
          ],
        ]}
      />
    </>
  )
}

/** With its customer, a delivery loses its order id, too. */
const erasedText = ({ OrderID }: Delivery) => t(OrderID === undefined ? 'detail.erased' : 'erase.done')

function Payload({ delivery, before }: DetailProperties) {
  const { ReceiptID } = delivery
  const path = `/Purchase/delivery/${ReceiptID}/payload`
  const { data, error, reload } = useQuery(
    async (signal: AbortSignal) => ({ path, ...(await getBytes(path, signal)) }),
    [path],
  )
  // What was loaded before belongs to another delivery.
  const body = data?.path === path ? data.bytes : undefined
  const text = useMemo(() => body && textOf(body), [body])
  if (error?.code === 'PAYLOAD_ERASED') return <p class="empty">{erasedText(delivery)}</p>
  if (error) return <Problem error={error} again={reload} />
  if (body === undefined || text === undefined) return <div class="payload skeleton" aria-busy="true"></div>
  const showChanges = before !== null && route.value.parameters.show === 'changes'
  const curl = curlOf({ origin: location.origin, receiptId: ReceiptID, text })
  return (
    <>
      <div class="line payload-head">
        <h3>{t('payload.title')}</h3>
        {before !== null && (
          <div role="group" aria-label={t('payload.title')}>
            <button aria-pressed={!showChanges} onClick={() => setParameters({ show: undefined })}>
              {t('payload.whole')}
            </button>
            <button aria-pressed={showChanges} onClick={() => setParameters({ show: 'changes' })}>
              {t('changes.title')}
            </button>
          </div>
        )}
        <CopyButton text={text} label={t('word.copy')} />
        <button onClick={() => save(new Blob([body], { type: 'application/json' }), `${ReceiptID}.json`)}>
          {t('payload.download')}
        </button>
      </div>
      {showChanges ? <PayloadChanges text={text} before={before} /> : <PayloadText text={text} />}
      <Facts
        facts={[
          [t('payload.size'), bytes(body.length)],
          [t('payload.digest'), <code>{data?.digest}</code>, data?.digest],
        ]}
      />
      <div class="line payload-head">
        <h3>{t('detail.again')}</h3>
        <CopyButton text={curl} label={t('detail.copyCommand')} />
      </div>
      <pre class="curl" tabIndex={0} role="region" aria-label={t('detail.again')}>
        {curl}
      </pre>
    </>
  )
}
