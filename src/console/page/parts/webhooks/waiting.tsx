import { useState } from 'preact/hooks'
import { foreign } from '../../lib/foreign.tsx'
import { whole } from '../../lib/format.ts'
import { printing } from '../../lib/printing.ts'
import { mayWrite } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'
import { Ago } from '../words.tsx'
import { Answered } from './attempts.tsx'
import { replayThese } from './replay.tsx'
import { type Attempt, type Attempts, DeliveryLink, type Endpoint, nextTry, type ShownEndpoint } from './words.tsx'

/** What an answer has at most. */
const MAX_SHOWN = 100
const FIRST = 5

type Delivery = (ShownEndpoint['Failing'] | ShownEndpoint['SetAside'])[number]

interface WaitingProps {
  readonly kind: 'failing' | 'aside'
  readonly deliveries: readonly Delivery[]
  readonly total: number
  readonly data: ShownEndpoint & Attempts
  readonly done: (text: string) => void
}

/** Deliveries that fail (`failing`), or that are not tried again (`aside`). */
export function Waiting({
  kind,
  deliveries,
  total,
  data: { Endpoint: endpoint, Attempts: attempts },
  done,
}: WaitingProps) {
  const [all, setAll] = useState(false)
  const isAside = kind === 'aside'
  const shown = all || printing.value ? deliveries : deliveries.slice(0, FIRST)
  return (
    <section>
      <h2>{t(`webhook.${kind}.title`)}</h2>
      <p class="note">
        {t(`webhook.${kind}.about`)}{' '}
        {deliveries.length >= MAX_SHOWN && t('webhook.first', { count: whole(deliveries.length), total: whole(total) })}
      </p>
      <div class="table" tabIndex={0} role="region" aria-label={t(`webhook.${kind}.title`)}>
        <table class="waiting">
          <thead>
            <tr>
              <th scope="col">{t('word.delivery')}</th>
              <th scope="col">{t('word.answer')}</th>
              <th scope="col" class="number">
                {t('webhook.failures')}
              </th>
              <th scope="col">{t('webhook.firstFailed')}</th>
              <th scope="col">{t(isAside ? 'word.set-aside' : 'webhook.attempt.next')}</th>
              {mayWrite.value && <td></td>}
            </tr>
          </thead>
          <tbody>
            {shown.map((delivery) => (
              <Row
                key={`${delivery.ReceiptID} ${delivery.FirstFailedAt}`}
                delivery={delivery}
                attempt={attempts.find(({ ReceiptID }) => ReceiptID !== null && ReceiptID === delivery.ReceiptID)}
                endpoint={endpoint}
                done={done}
              />
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < deliveries.length && (
        <p>
          <button onClick={() => setAll(true)}>{t('webhook.showAll', { count: whole(deliveries.length) })}</button>
        </p>
      )}
      {isAside && mayWrite.value && (
        <p>
          <button onClick={() => replayThese({ endpoint, done })}>{t('webhook.replay.aside')}</button>
        </p>
      )}
    </section>
  )
}

interface RowProps {
  readonly delivery: Delivery
  /** The latest of the last day. */
  readonly attempt: Attempt | undefined
  readonly endpoint: Endpoint
  readonly done: (text: string) => void
}

function Row({ delivery, attempt, endpoint, done }: RowProps) {
  const { ReceiptID, OrderID, Failures, FirstFailedAt, Error: error } = delivery
  const isPaused = endpoint.State === 'paused'
  return (
    <tr>
      <td>
        <DeliveryLink receipt={ReceiptID} order={OrderID} />
      </td>
      <td class="why">{attempt ? <Answered attempt={attempt} /> : error !== null && foreign(error)}</td>
      <td class="number">{whole(Failures)}</td>
      <td>{FirstFailedAt && <Ago at={FirstFailedAt} />}</td>
      <td>
        {'SetAsideAt' in delivery ? (
          <Ago at={delivery.SetAsideAt} />
        ) : (
          nextTry(delivery.NextTryAt) || t(isPaused ? 'word.paused' : 'webhook.waitsForOthers')
        )}
      </td>
      {mayWrite.value && (
        <td class="row-actions">
          {ReceiptID && (
            <button class="small" onClick={() => replayThese({ endpoint, receipt: ReceiptID, done })}>
              {t('word.sendAgain')}
              <span class="visually-hidden"> {OrderID ?? ReceiptID}</span>
            </button>
          )}
        </td>
      )}
    </tr>
  )
}
