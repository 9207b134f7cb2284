import type { Static } from '@sinclair/typebox'
import type { ComponentChild } from 'preact'
import type { AuditEventsSchema } from '#src/audit/audit-list.schema.ts'
import { foreign, HOLE, withForeign } from '../lib/foreign.tsx'
import { dateTime, whole } from '../lib/format.ts'
import { isCoded, messageText } from '../lib/messages.ts'
import type { Pages, Place } from '../lib/pages.ts'
import { language } from '../lib/preferences.ts'
import { printing } from '../lib/printing.ts'
import { href, only, type Parameters, type ViewProps } from '../lib/route.ts'
import { hasText, named, t } from '../lib/texts.ts'
import { readPage, usePages } from '../lib/use-pages.ts'
import { ListHeading } from '../parts/export-menu.tsx'
import { fieldsOf } from '../parts/filter-fields.ts'
import { Filters } from '../parts/filters.tsx'
import { Problem } from '../parts/problem.tsx'
import { type ShortColumn, ShortTable } from '../parts/short-table.tsx'
import { Ago, CustomerLink, OrderLink, ROLES } from '../parts/words.tsx'

type Answer = Static<typeof AuditEventsSchema>
/** Events have no id: each gets a number when it is read. */
type Event = Answer['Events'][number] & { readonly number: number }

const FIELDS = ['customer', 'action', 'orderId', 'requestId', 'keyId', 'from', 'to']

const actionName = (action: string): string => named('audit', action)

let numbers = 0

async function loadPage(query: Parameters, place: Place<Event>) {
  const { rows, next } = await readPage<Answer['Events'][number]>('/Operator/audit', 'Events', query, place)
  return { rows: rows.map((event) => ({ ...event, number: numbers++ })), next }
}

export function AuditView({ parameters }: ViewProps) {
  const query = only(FIELDS, parameters)
  const load = (place: Place<Event>) => loadPage(query, place)
  const pages = usePages(load, [query], ({ number }) => String(number))
  return (
    <>
      <ListHeading title={t('word.audit')} path="/Operator/audit" query={query} name="audit" />
      <Filters fields={fieldsOf(FIELDS)} parameters={query} />
      <Log pages={pages} />
    </>
  )
}

/** Apart from the filters: rows that arrive must not undo what somebody types. */
function Log({ pages }: { readonly pages: Pages<Event> }) {
  const { rows, next, loading, error } = pages.state.value
  return (
    <>
      {rows.length > 0 && (
        <ShortTable
          label={t('word.audit')}
          look="audit"
          columns={COLUMNS}
          rows={rows}
          keyOf={({ number }) => String(number)}
        />
      )}
      {rows.length === 0 && next !== null && !error && <div class="skeleton tall" aria-busy="true"></div>}
      {rows.length === 0 && next === null && <p class="empty">{t('audit.none')}</p>}
      {error && <Problem error={error} again={pages.more} />}
      <p class="line rows-foot">
        <span class="note" role="status">
          {rows.length > 0 && t('audit.count', { count: rows.length })}
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

const COLUMNS: readonly ShortColumn<Event>[] = [
  { title: 'audit.action', cell: (event) => <What event={event} /> },
  { title: 'word.time', look: 'time', cell: ({ At }) => <Ago at={At} /> },
]

function What({ event }: { readonly event: Event }) {
  const [said, ids] = detailsOf(event)
  return (
    <>
      <Summary event={event} />
      <Names pairs={said} />
      {ids.length > 0 && (
        <details open={printing.value}>
          <summary>{t('word.details')}</summary>
          <Names pairs={ids} />
        </details>
      )}
    </>
  )
}

const changed = (change: 'toLocaleLowerCase' | 'toLocaleUpperCase', text: string): string =>
  text.charAt(0)[change](language.value) + text.slice(1)

/** Who did what to whom. Nobody is named for what was refused: its caller is known by its key or not at all. */
function Summary({ event: { Action, Actor, CustomerID, Customer } }: { readonly event: Event }) {
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
  <dl class="line details">
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
/** What never ends if it has no time. */
const ENDS = ['expiresAt', 'endsAt']

function detailText(name: string, value: unknown): string {
  if (value === null && ENDS.includes(name)) return t('audit.value.null')
  if (name === 'scope') return named('role', ROLES[String(value)] ?? String(value))
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
