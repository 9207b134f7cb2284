import { get } from '../lib/api.ts'
import { foreign } from '../lib/foreign.tsx'
import { dateTime, whole } from '../lib/format.ts'
import { messageText } from '../lib/messages.ts'
import { href } from '../lib/route.ts'
import { hasText, named, t } from '../lib/texts.ts'
import { usePages } from '../lib/use-pages.ts'
import { Filters } from '../parts/filters.tsx'
import { Problem } from '../parts/problem.tsx'
import { CustomerLink, OrderLink } from '../parts/words.tsx'

const ACTIONS = [
  'customer.add',
  'customer.set-password',
  'customer.enable',
  'customer.disable',
  'customer.allow',
  'customer.disallow',
  'customer.set',
  'customer.remove',
  'key.issue',
  'key.set',
  'key.rotate',
  'key.revoke',
  'token.revoke',
  'signing-key.rotate',
  'signing-key.rewrap',
  'store.restore',
  'store.rewrite',
  'store.take-back',
  'delivery.purge',
  'delivery.erase',
  'order.erase',
  'webhook.add',
  'webhook.set',
  'webhook.pause',
  'webhook.resume',
  'webhook.replay',
  'webhook.rotate-secret',
  'webhook.test',
  'webhook.remove',
  'login.refused',
  'delivery.refused',
  'operator.refused',
]
const PAGE_ROWS = 100

/** A newer server may send actions that have no words here. */
const actionName = (action) => (hasText(`audit.${action}`) ? t(`audit.${action}`) : action)

const fields = () => [
  { name: 'customer', label: () => t('word.customer'), kind: 'text' },
  {
    name: 'action',
    label: () => t('audit.column.action'),
    kind: 'choice',
    choices: ACTIONS.map((action) => [action, actionName(action)]),
  },
  { name: 'orderId', label: () => t('word.order'), kind: 'text' },
  { name: 'requestId', label: () => t('word.request'), kind: 'text' },
  { name: 'keyId', label: () => t('word.key'), kind: 'text' },
  { name: 'from', label: () => t('word.from'), kind: 'time' },
  { name: 'to', label: () => t('filters.to'), kind: 'time' },
]

/** Events have no id: each gets a number when it is read. */
let numbers = 0

async function loadPage(query, { cursor, signal }) {
  const data = await get('/Operator/audit', { ...query, limit: PAGE_ROWS, cursor }, { signal })
  const rows = data.Events.map((event) => ({ ...event, number: numbers++ }))
  return { rows, next: data.NextCursor }
}

export function AuditView({ parameters: { customer, action, orderId, requestId, keyId, from, to } }) {
  const query = { customer, action, orderId, requestId, keyId, from, to }
  const pages = usePages(
    (place) => loadPage(query, place),
    [query],
    ({ number }) => number,
  )
  return (
    <>
      <h1>{t('word.audit')}</h1>
      <Filters fields={fields()} parameters={query} />
      <Log pages={pages} />
    </>
  )
}

/** Apart from the filters: rows that arrive must not undo what somebody types. */
function Log({ pages }) {
  const { rows, next, loading, error } = pages.state.value
  return (
    <>
      {rows.length > 0 && <Events events={rows} />}
      {rows.length === 0 && next !== null && !error && <div class="skeleton tall" aria-busy="true"></div>}
      {rows.length === 0 && next === null && <p class="empty">{t('audit.none')}</p>}
      {error && <Problem error={error} again={pages.more} />}
      <p class="rows-foot">
        <span class="note" role="status">
          {rows.length > 0 && t('audit.count', { count: rows.length, shown: whole(rows.length) })}
        </span>
        {next && (
          <button onClick={pages.more} disabled={loading}>
            {t('table.more')}
          </button>
        )}
      </p>
    </>
  )
}

const COLUMNS = ['word.time', 'audit.column.actor', 'audit.column.action', 'word.customer', 'word.details'] as const

const Events = ({ events }) => (
  <div class="table" tabindex="0" role="region" aria-label={t('word.audit')}>
    <table class="audit">
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
        {events.map((event) => (
          <Row key={event.number} event={event} />
        ))}
      </tbody>
    </table>
  </div>
)

const Row = ({ event }) => (
  <tr>
    <td class="time">{dateTime(event.At)}</td>
    <td>
      {foreign(event.Actor)}
      {event.Address && (
        <>
          <br />
          <small>{event.Address}</small>
        </>
      )}
    </td>
    <td>{actionName(event.Action)}</td>
    <td>
      <CustomerLink id={event.CustomerID} />
    </td>
    <td>
      <Details event={event} />
    </td>
  </tr>
)

function Details({ event: { CustomerID, RequestID, RefusalID, OrderID, KeyID, Details: details } }) {
  const key = (id) =>
    CustomerID ? (
      <a href={href('customer', [CustomerID], { key: id })}>
        <code>{id}</code>
      </a>
    ) : (
      <code>{id}</code>
    )
  const { keyId = KeyID, newKeyId, messages = {}, ...more } = details
  const shown = [
    keyId && ['keyId', key(keyId)],
    newKeyId && ['newKeyId', key(newKeyId)],
    OrderID !== null && ['orderId', <OrderLink customer={CustomerID} order={OrderID} />],
    ...Object.entries(more).map(([name, value]) => [
      name,
      linked(name, value) ?? foreign(messages[name] ? messageText(messages[name], value) : detailText(name, value)),
    ]),
    RefusalID && [
      'refusalId',
      <a href={href('refusals', [RefusalID])}>
        <code>{RefusalID}</code>
      </a>,
    ],
    RequestID && [
      'requestId',
      <a href={href('audit', [], { requestId: RequestID })}>
        <code>{RequestID}</code>
      </a>,
    ],
  ]
  return (
    <dl class="details">
      {shown.filter(Boolean).map(([name, value]) => (
        <div key={name}>
          <dt>{named('audit.detail', name)}</dt> <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

const VIEWS = { endpointId: 'webhook', receiptId: 'delivery' }

const linked = (name, id) =>
  Object.hasOwn(VIEWS, name) ? (
    <a href={href(VIEWS[name], [id])}>
      <code>{id}</code>
    </a>
  ) : undefined

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

/** Details of which some values are words, such as `changed` instead of the label itself. */
const WORDS = ['email', 'name', 'note', 'disabledReason', 'label', 'networks', 'ca', 'from']
const NEVER = ['expiresAt', 'endsAt']

function detailText(name, value) {
  if (value === null && NEVER.includes(name)) return t('audit.value.null')
  const key = `audit.value.${value}`
  return WORDS.includes(name) && typeof value === 'string' && hasText(key) ? t(key) : valueText(value)
}

function valueText(value) {
  if (value === null) return t('audit.value.nothing')
  if (typeof value === 'boolean') return t(`audit.value.${value}`)
  if (typeof value === 'string') return TIME.test(value) ? dateTime(value) : value
  if (typeof value === 'number') return whole(value)
  const all = Array.isArray(value)
    ? value.map(valueText)
    : Object.entries(value).map(([name, each]) => `${name} ${valueText(each)}`)
  return all.join(', ') || t('audit.value.nothing')
}
