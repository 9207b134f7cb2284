import type { Static } from '@sinclair/typebox'
import type { RefusalsSchema } from '#src/purchase/refusals/refusals.schema.ts'
import type { StatsSchema } from '#src/purchase/stats/stats.schema.ts'
import { get } from '../lib/api.ts'
import { customerName } from '../lib/customers.tsx'
import { foreign } from '../lib/foreign.tsx'
import { dateTime, day, whole } from '../lib/format.ts'
import type { Place } from '../lib/pages.ts'
import { href, setParameters, type ViewProps } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { usePages } from '../lib/use-pages.ts'
import { useQuery } from '../lib/use-query.ts'
import { ListHeading } from '../parts/export-menu.tsx'
import { type FilterField, Filters } from '../parts/filters.tsx'
import { Problem } from '../parts/problem.tsx'
import { type Refusal, RefusalDetail, whatToDo, whyRefused } from '../parts/refusal.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Ago, AuditLink } from '../parts/words.tsx'

type Answer = Static<typeof RefusalsSchema>
type Stats = Static<typeof StatsSchema>

const PAGE_ROWS = 100

const fields = (): readonly FilterField[] => [
  { name: 'customer', label: () => t('word.customer'), kind: 'text' },
  { name: 'code', label: () => t('word.errorCode'), kind: 'text' },
  { name: 'orderId', label: () => t('word.order'), kind: 'text' },
  { name: 'requestId', label: () => t('word.request'), kind: 'text' },
  { name: 'from', label: () => t('word.from'), kind: 'time' },
  { name: 'to', label: () => t('filters.to'), kind: 'time' },
]

const COLUMNS: readonly Column<Refusal>[] = [
  {
    name: 'code',
    title: () => t('word.errorCode'),
    width: '13rem',
    cell: ({ ErrorCode }) => <code>{ErrorCode}</code>,
    only: ({ ErrorCode }) => ({ code: ErrorCode }),
  },
  {
    name: 'customer',
    title: () => t('word.customer'),
    width: '12rem',
    cell: ({ CustomerID, Customer }) =>
      CustomerID ? customerName(CustomerID, Customer) : <span class="note">{t('refusals.nobody')}</span>,
    only: ({ CustomerID }) => (CustomerID ? { customer: CustomerID } : null),
  },
  {
    name: 'order',
    title: () => t('word.order'),
    width: '8rem',
    cell: ({ OrderID }) => OrderID && foreign(OrderID),
    only: ({ OrderID }) => ({ orderId: OrderID }),
  },
  {
    name: 'message',
    title: () => t('word.message'),
    cell: (refusal) => foreign(whyRefused(refusal)),
  },
  {
    name: 'body',
    wide: true,
    title: () => t('refusals.body'),
    width: '4.5rem',
    cell: ({ PayloadBytes }) => PayloadBytes !== undefined && t('refusals.kept'),
  },
  {
    name: 'at',
    title: () => t('refusals.at'),
    width: '8rem',
    cell: ({ RefusedAt }, tabIndex) => <Ago at={RefusedAt} tabIndex={tabIndex} />,
  },
]

const keyOf = ({ RefusalID }: Refusal) => RefusalID
const linkOf = ({ RefusalID }: Refusal) => href('refusals', [RefusalID])

async function loadPage(query: object, { cursor, signal }: Place<Refusal>) {
  const data: Answer = await get('/Purchase/refusals', { ...query, limit: PAGE_ROWS, cursor }, { signal })
  return { rows: data.Refusals, next: data.NextCursor }
}

export const RefusalsView = ({ parts: [id], parameters }: ViewProps) =>
  id ? <RefusalView id={id} /> : <List parameters={parameters} />

function List({ parameters }: Pick<ViewProps, 'parameters'>) {
  const { customer, code, orderId, requestId, from, to } = parameters
  const query = { customer, code, orderId, requestId, from, to }
  const pages = usePages((place: Place<Refusal>) => loadPage(query, place), [query], keyOf)
  return (
    <>
      <ListHeading title={t('word.refusals')} path="/Purchase/refusals" query={query} name="refusals" />
      <Filters fields={fields()} parameters={query} />
      <Codes query={{ customer, from, to }} chosen={code} />
      <h2>{t('refusals.each')}</h2>
      <Table
        label={t('word.refusals')}
        columns={COLUMNS}
        pages={pages}
        linkOf={linkOf}
        empty={<p>{t('refusals.none')}</p>}
      />
    </>
  )
}

interface Period {
  readonly customer: string | undefined
  readonly from: string | undefined
  readonly to: string | undefined
}

/** How many there were of each code, and what to do about it. */
function Codes({ query, chosen }: { readonly query: Period; readonly chosen: string | undefined }) {
  const read = (signal: AbortSignal): Promise<Stats> => get('/Purchase/stats', { ...query, by: 'day' }, { signal })
  const { data, error, reload } = useQuery(read, [query])
  // The list says it, too.
  if (error?.code === 'CUSTOMER_NOT_FOUND') return null
  // The list says it, too.
  if (error?.code === 'CUSTOMER_NOT_FOUND') return null
  if (error) return <Problem error={error} again={reload} />
  if (data === undefined) return <div class="skeleton" aria-busy="true"></div>
  const { Refusals, RefusedLogins } = data.Totals
  // Without a filter they are whole days.
  const time = query.from || query.to ? dateTime : day
  return (
    <>
      <h2>
        {t('word.errorCodes')} <small>{t('refusals.range', { from: time(data.From), to: time(data.To) })}</small>
      </h2>
      {Refusals.Total === 0 ? (
        <p class="empty">{t('refusals.noneCounted')}</p>
      ) : (
        <CodeList counts={Refusals} chosen={chosen} />
      )}
      {RefusedLogins.Total > 0 && (
        <p>
          <AuditLink of={{ ...query, action: 'login.refused' }}>
            {t('refusals.logins', { count: RefusedLogins.Total, shown: whole(RefusedLogins.Total) })}
          </AuditLink>
        </p>
      )}
    </>
  )
}

interface CodeListProps {
  readonly counts: Stats['Totals']['Refusals']
  readonly chosen: string | undefined
}

function CodeList({ counts: { Total, ByCode }, chosen }: CodeListProps) {
  const codes = Object.entries<number>(ByCode).sort(([, one], [, other]) => other - one)
  return (
    <ul class="codes">
      {codes.map(([code, count]) => (
        <li key={code}>
          <button
            aria-pressed={code === chosen}
            onClick={() => setParameters({ code: code === chosen ? undefined : code })}
          >
            <code>{code}</code> <b>{whole(count)}</b>
          </button>
          <svg aria-hidden="true" viewBox="0 0 100 4" preserveAspectRatio="none">
            <rect class="track" width="100" height="4" />
            <rect class="bad" width={(count / Total) * 100} height="4" />
          </svg>
          <p class="note">{whatToDo(code)}</p>
        </li>
      ))}
    </ul>
  )
}

function RefusalView({ id }: { readonly id: string }) {
  const read = (signal: AbortSignal): Promise<Refusal> =>
    get(`/Purchase/refusal/${encodeURIComponent(id)}`, {}, { signal })
  const { data, error, reload } = useQuery(read, [id])
  return (
    <>
      <p>
        <a href={href('refusals')}>{t('refusals.all')}</a>
      </p>
      <h1>
        {t('word.refusal')} {data && <code>{data.ErrorCode}</code>}
      </h1>
      {error && <Problem error={error} again={reload} />}
      {data === undefined ? (
        !error && <div class="skeleton tall" aria-busy="true"></div>
      ) : (
        <RefusalDetail refusal={data} />
      )}
    </>
  )
}
