import { foreign } from '../../lib/foreign.tsx'
import { whole } from '../../lib/format.ts'
import { mayWrite } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'
import { type ShortColumn, ShortTable } from '../short-table.tsx'
import { Ago } from '../words.tsx'
import { Answered } from './attempts.tsx'
import { replayThese } from './replay.tsx'
import { type Attempts, DeliveryLink, nextTry, type ShownEndpoint } from './words.tsx'

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
export function Waiting({ kind, deliveries, total, data, done }: WaitingProps) {
  const { Endpoint: endpoint, Attempts: attempts } = data
  const isAside = kind === 'aside'
  const answerOf = ({ ReceiptID, Error: error }: Delivery) => {
    const latest = attempts.find((attempt) => ReceiptID !== null && attempt.ReceiptID === ReceiptID)
    return latest ? <Answered attempt={latest} /> : error !== null && foreign(error)
  }
  const columns: readonly (ShortColumn<Delivery> | false)[] = [
    { title: 'word.delivery', cell: (row) => <DeliveryLink receipt={row.ReceiptID} order={row.OrderID} /> },
    { title: 'word.answer', look: 'why', cell: answerOf },
    { title: 'webhook.failures', look: 'number', cell: ({ Failures }) => whole(Failures) },
    { title: 'webhook.firstFailed', cell: ({ FirstFailedAt }) => FirstFailedAt && <Ago at={FirstFailedAt} /> },
    {
      title: isAside ? 'word.set-aside' : 'webhook.attempt.next',
      cell: (row) =>
        'SetAsideAt' in row ? (
          <Ago at={row.SetAsideAt} />
        ) : (
          nextTry(row.NextTryAt) || t(endpoint.State === 'paused' ? 'word.paused' : 'webhook.waitsForOthers')
        ),
    },
    mayWrite.value && {
      look: 'row-actions',
      cell: ({ ReceiptID, OrderID }) =>
        ReceiptID && (
          <button class="small" onClick={() => replayThese({ endpoint, receipt: ReceiptID, done })}>
            {t('word.sendAgain')}
            <span class="visually-hidden"> {OrderID ?? ReceiptID}</span>
          </button>
        ),
    },
  ]
  return (
    <section>
      <h2>{t(`webhook.${kind}.title`)}</h2>
      <p class="note">
        {t(`webhook.${kind}.about`)}{' '}
        {deliveries.length >= MAX_SHOWN && t('webhook.first', { count: deliveries.length, total })}
      </p>
      <ShortTable
        label={t(`webhook.${kind}.title`)}
        look="waiting"
        columns={columns}
        rows={deliveries}
        keyOf={({ ReceiptID, FirstFailedAt }) => `${ReceiptID} ${FirstFailedAt}`}
        first={FIRST}
      />
      {isAside && mayWrite.value && (
        <p>
          <button onClick={() => replayThese({ endpoint, done })}>{t('webhook.replay.aside')}</button>
        </p>
      )}
    </section>
  )
}
