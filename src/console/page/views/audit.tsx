import type { Static } from '@sinclair/typebox'
import type { ComponentChild } from 'preact'
import { ACTIONS } from '#src/audit/action-names.ts'
import type { AuditEventsSchema } from '#src/audit/audit-list.schema.ts'
import { get } from '../lib/api.ts'
import { foreign } from '../lib/foreign.tsx'
import { dateTime, whole } from '../lib/format.ts'
import { isCoded, messageText } from '../lib/messages.ts'
import type { Pages, Place } from '../lib/pages.ts'
import { language } from '../lib/preferences.ts'
import { printing } from '../lib/printing.ts'
import { href, type ViewProps } from '../lib/route.ts'
import { hasText, named, type TextKey, t } from '../lib/texts.ts'
import { usePages } from '../lib/use-pages.ts'
import { HOLE, withForeign } from '../parts/action-form.tsx'
import { ListHeading } from '../parts/export-menu.tsx'
import { type FilterField, Filters } from '../parts/filters.tsx'
import { Problem } from '../parts/problem.tsx'
import { Ago, CustomerLink, OrderLink } from '../parts/words.tsx'

type Answer = Static<typeof AuditEventsSchema>
/** Events have no id: each gets a number when it is read. */
type Event = Answer['Events'][number] & { readonly number: number }

const PAGE_ROWS = 100

const actionName = (action: string): string => named('audit', action)

const fields = (): readonly FilterField[] => [
  { name: 'customer', label: () => t('word.customer'), kind: 'text' },
  {
    name: 'action',
    label: () => t('audit.action'),
    kind: 'choice',
    choices: ACTIONS.map((action) => [action, actionName(action)] as const),
  },
  { name: 'orderId', label: () => t('word.order'), kind: 'text' },
  { name: 'requestId', label: () => t('word.request'), kind: 'text' },
  { name: 'keyId', label: () => t('word.key'), kind: 'text' },
  { name: 'from', label: () => t('word.from'), kind: 'time' },
  { name: 'to', label: () => t('filters.to'), kind: 'time' },
]

let numbers = 0

async function loadPage(query: object, { cursor, signal }: Place<Event>) {
  const data: Answer = await get('/Operator/audit', { ...query, limit: PAGE_ROWS, cursor }, { signal })
  const rows = data.Events.map((event) => ({ ...event, number: numbers++ }))
  return { rows, next: data.NextCursor }
}

export function AuditView({ parameters }: ViewProps) {
  const { customer, action, orderId, requestId, keyId, from, to } = parameters
  const query = { customer, action, orderId, requestId, keyId, from, to }
  const pages = usePages(
    (place: Place<Event>) => loadPage(query, place),
    [query],
    ({ number }) => String(number),
  )
  return (
    <>
      <ListHeading title={t('word.audit')} path="/Operator/audit" query={query} name="audit" />
      <Filters fields={fields()} parameters={query} />
      <Log pages={pages} />
    </>
  )
}

/** Apart from the filters: rows that arrive must not undo what somebody types. */
function Log({ pages }: { readonly pages: Pages<Event> }) {
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

const Events = ({ events }: { readonly events: readonly Event[] }) => (
  <div class="table" tabindex={0} role="region" aria-label={t('word.audit')}>
    <table class="audit">
      <thead>
        <tr>
          <th scope="col">{t('audit.action')}</th>
          <th scope="col">{t('word.time')}</th>
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

function Row({ event }: { readonly event: Event }) {
  const [said, ids] = detailsOf(event)
  return (
    <tr>
      <td>
        <Sentence event={event} />
        <Names pairs={said} />
        {ids.length > 0 && (
          <details open={printing.value}>
            <summary>{t('word.details')}</summary>
            <Names pairs={ids} />
          </details>
        )}
      </td>
      <td class="time">
        <Ago at={event.At} />
      </td>
    </tr>
  )
}

const changed = (change: 'toLocaleLowerCase' | 'toLocaleUpperCase', text: string): string =>
  text.charAt(0)[change](language.value) + text.slice(1)

/** Who did what to whom. Nobody is named for what was refused: its caller is known by its key or not at all. */
function Sentence({ event: { Action, Actor, CustomerID, Customer } }: { readonly event: Event }) {
  const [, door = '', who = ''] = /^(console|cli):(.*)$/s.exec(Actor) ?? []
  const what = actionName(Action)
  const key = `audit.by.${door}`
  const text = hasText(key)
    ? changed('toLocaleUpperCase', t(key, { what: changed('toLocaleLowerCase', what), who: HOLE }))
    : what
  return (
    <p>
      {withForeign(text, who)}
      {CustomerID !== null && (
        <>
          : <CustomerLink id={CustomerID} name={Customer} />
        </>
      )}
    </p>
  )
}

type Pair = readonly [name: string, value: ComponentChild]

/** What is worth reading, and ids to go on with. */
function detailsOf(event: Event): [said: Pair[], ids: Pair[]] {
  const { CustomerID, RequestID, RefusalID, OrderID, KeyID, Address, Details: details } = event
  const {
    keyId = KeyID,
    newKeyId,
    endpointId,
    receiptId,
    kid,
    messages = {},
    ...more
  }: Record<string, unknown> = details
  const coded: Readonly<Record<string, unknown>> = { ...Object(messages) }
  const said = Object.entries(more).map(([name, value]): Pair => {
    const message = coded[name]
    return [name, foreign(isCoded(message) ? messageText(message, String(value)) : detailText(name, value))]
  })
  if (OrderID !== null) said.unshift(['orderId', <OrderLink customer={CustomerID} order={OrderID} />])
  const keyAt = (key: string) => (CustomerID === null ? undefined : href('customer', [CustomerID], { key }))
  const ids = [
    id('keyId', keyId, keyAt),
    id('newKeyId', newKeyId, keyAt),
    id('endpointId', endpointId, (endpoint) => href('webhook', [endpoint])),
    id('receiptId', receiptId, (receipt) => href('delivery', [receipt])),
    id('kid', kid),
    id('refusalId', RefusalID, (refusal) => href('refusals', [refusal])),
    id('requestId', RequestID, (requestId) => href('audit', [], { requestId })),
    id('address', Address),
  ]
  return [said, ids.flat()]
}

/** An id with the way to what it names; nothing for one that is not there. */
function id(name: string, value: unknown, address?: (id: string) => string | undefined): Pair[] {
  if (typeof value !== 'string') return []
  const to = address?.(value)
  return [
    [
      name,
      to === undefined ? (
        <code>{value}</code>
      ) : (
        <a href={to}>
          <code>{value}</code>
        </a>
      ),
    ],
  ]
}

const Names = ({ pairs }: { readonly pairs: readonly Pair[] }) => (
  <dl class="details">
    {pairs.map(([name, value]) => (
      <div key={name}>
        <dt>{named('audit.detail', name)}</dt> <dd>{value}</dd>
      </div>
    ))}
  </dl>
)

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

/** Details of which some values are words, such as `changed` instead of the label itself. */
const WORDS = ['email', 'name', 'note', 'disabledReason', 'label', 'networks', 'ca', 'from']
const SCOPES: Readonly<Record<string, TextKey>> = {
  customer: 'word.customer',
  feed: 'role.feed',
  operator: 'role.operator',
  'operator:read': 'role.readOnly',
  'operator:support': 'role.support',
}
/** What never ends if it has no time. */
const ENDS = ['expiresAt', 'endsAt']

function detailText(name: string, value: unknown): string {
  if (value === null && ENDS.includes(name)) return t('audit.value.null')
  const scope = name === 'scope' ? SCOPES[String(value)] : undefined
  if (scope !== undefined) return t(scope)
  const key = `audit.value.${value}`
  return WORDS.includes(name) && typeof value === 'string' && hasText(key) ? t(key) : valueText(value)
}

function valueText(value: unknown): string {
  if (value === null) return t('audit.value.nothing')
  if (typeof value === 'boolean') return t(`audit.value.${value}`)
  if (typeof value === 'string') return TIME.test(value) ? dateTime(value) : value
  if (typeof value === 'number') return whole(value)
  const all = Array.isArray(value)
    ? value.map(valueText)
    : Object.entries(Object(value)).map(([name, each]) => `${name} ${valueText(each)}`)
  return all.join(', ') || t('audit.value.nothing')
}
