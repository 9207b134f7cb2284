import { post } from '../../lib/api.ts'
import { Sentence, statusBadge } from '../../lib/foreign.tsx'
import { dateTime, whole } from '../../lib/format.ts'
import { mayWrite } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'
import { Field, showAction, type Values } from '../action-form.tsx'
import { timeOf } from '../filters.tsx'
import { Facts } from '../words.tsx'
import { Begin, filled, fromOf, Statuses, statusesOf } from './add.tsx'
import { type Endpoint, pathOf, type Replayed } from './words.tsx'

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
        {t('webhook.stretch.percent', { percent: Percent })}
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
          <button onClick={() => cancel({ endpoint, done })}>{t('webhook.stretch.cancel')}</button>
        </p>
      )}
    </section>
  )
}

const send = (endpoint: Endpoint, body: object): Promise<Replayed> => post(pathOf(endpoint.EndpointID, 'replay'), body)

const cancel = ({ endpoint, done }: ReplayProps): void =>
  showAction({
    title: 'webhook.stretch.cancelTitle',
    verb: 'webhook.stretch.cancel',
    run: () => send(endpoint, { Cancel: true }),
    done: () => done(t('webhook.stretch.cancelled')),
    children: <Sentence text="webhook.stretch.cancelWhat" name={endpoint.URL} />,
  })

const CHOICES = [
  ['time', 'webhook.again.time'],
  ['start', 'webhook.again.start'],
  ['order', 'webhook.again.order'],
  ['receipt', 'webhook.again.receipt'],
  ['setAside', 'webhook.again.setAside'],
] as const
type Chosen = (typeof CHOICES)[number][0]

const isStretch = (chosen = ''): boolean => chosen === 'time' || chosen === 'start'

/** Sends again what the operator chooses. */
export const replay = ({ endpoint, done }: ReplayProps): void =>
  showAction({
    title: 'webhook.replay.title',
    verb: 'word.sendAgain',
    async run(values: Values) {
      const { Deliveries: count } = await send(endpoint, bodyOf(values))
      return t(isStretch(values.Begin) ? 'webhook.replayed.most' : 'webhook.replayed', { count })
    },
    done,
    children: (
      <Begin
        choices={CHOICES.filter(([choice]) => choice !== 'setAside' || endpoint.SetAside > 0)}
        legend="webhook.replay.which"
      >
        {(chosen) => (
          <>
            {isStretch(chosen) && (
              <Field
                key="to"
                name="To"
                type="datetime-local"
                step="1"
                label="webhook.again.to"
                hint="webhook.again.toHint"
              />
            )}
            {chosen === 'order' && <Field key="order" name="OrderID" required label="webhook.again.orderField" />}
            {chosen === 'order' && endpoint.CustomerID === null && (
              <Field key="customer" name="Customer" label="word.customer" hint="webhook.told.customerHint" />
            )}
            {(isStretch(chosen) || chosen === 'order') && <Statuses key="statuses" />}
            <What endpoint={endpoint} chosen={chosen} />
          </>
        )}
      </Begin>
    ),
  })

/** What would be sent again. */
const What = ({ endpoint, chosen }: { readonly endpoint: Endpoint; readonly chosen: Chosen }) => (
  <Sentence
    text={`webhook.replay.what.${chosen}`}
    name={endpoint.URL}
    values={{ count: endpoint.SetAside }}
    role="status"
  />
)

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

export const replayThese = ({ endpoint, receipt, done }: TheseProps): void =>
  showAction({
    title: receipt ? 'webhook.replay.oneTitle' : 'webhook.replay.asideTitle',
    verb: 'word.sendAgain',
    run: () => send(endpoint, receipt ? { ReceiptID: receipt } : { SetAside: true }),
    done: ({ Deliveries: count }) => done(t('webhook.replayed', { count })),
    children: (
      <>
        <What endpoint={endpoint} chosen={receipt ? 'receipt' : 'setAside'} />
        {receipt && (
          <p>
            <code>{receipt}</code>
          </p>
        )}
      </>
    ),
  })
