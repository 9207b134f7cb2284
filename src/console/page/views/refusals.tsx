import type { StatsAnswer } from '#src/purchase/stats/stats.schema.ts'
import { customerName } from '../lib/customers.tsx'
import { foreign } from '../lib/foreign.tsx'
import { dateTime, day, whole } from '../lib/format.ts'
import type { Place } from '../lib/pages.ts'
import { href, only, setParameters, type ViewProps } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { readPage, usePages } from '../lib/use-pages.ts'
import { useGet } from '../lib/use-query.ts'
import { fieldsOf } from '../parts/filter-fields.ts'
import { agoColumn, List, type Query } from '../parts/list.tsx'
import { Loaded } from '../parts/problem.tsx'
import { type Refusal, RefusalDetail, whatToDo, whyRefused } from '../parts/refusal.tsx'
import type { Column } from '../parts/table.tsx'
import { RefusedLogins } from '../parts/words.tsx'

const FIELDS = ['customer', 'code', 'orderId', 'requestId', 'from', 'to']

const COLUMNS: readonly Column<Refusal>[] = [
  {
    title: 'word.errorCode',
    width: '13rem',
    cell: ({ ErrorCode }) => <code>{ErrorCode}</code>,
    only: ({ ErrorCode }) => ({ code: ErrorCode }),
  },
  {
    title: 'word.customer',
    width: '12rem',
    cell: ({ CustomerID, Customer }) =>
      CustomerID ? customerName(CustomerID, Customer) : <span class="note">{t('refusals.nobody')}</span>,
    only: ({ CustomerID }) => (CustomerID ? { customer: CustomerID } : null),
  },
  {
    title: 'word.order',
    width: '8rem',
    cell: ({ OrderID }) => OrderID && foreign(OrderID),
    only: ({ OrderID }) => ({ orderId: OrderID }),
  },
  {
    title: 'word.message',
    cell: (refusal) => foreign(whyRefused(refusal)),
  },
  {
    wide: true,
    title: 'refusals.body',
    width: '6rem',
    cell: ({ PayloadBytes }) => PayloadBytes !== undefined && t('refusals.kept'),
  },
  agoColumn('refusals.at', '8rem', ({ RefusedAt }) => RefusedAt),
]

const keyOf = ({ RefusalID }: Refusal) => RefusalID
const linkOf = ({ RefusalID }: Refusal) => href('refusals', [RefusalID])

export const RefusalsView = ({ parts: [id], parameters }: ViewProps) =>
  id ? <RefusalView id={id} /> : <Refusals parameters={parameters} />

function Refusals({ parameters }: Pick<ViewProps, 'parameters'>) {
  const query = only(FIELDS, parameters)
  const { customer, from, to, code } = query
  const load = (place: Place<Refusal>) => readPage<Refusal>('/Purchase/refusals', 'Refusals', query, place)
  const pages = usePages(load, [query], keyOf)
  return (
    <List
      name="refusals"
      path="/Purchase/refusals"
      query={query}
      fields={fieldsOf(FIELDS)}
      columns={COLUMNS}
      pages={pages}
      linkOf={linkOf}
      none={<p>{t('refusals.none')}</p>}
    >
      <Codes query={{ customer, from, to }} chosen={code} />
      <h2>{t('refusals.each')}</h2>
    </List>
  )
}

/** How many there were of each code, and what to do about it. */
function Codes({ query, chosen }: { readonly query: Query; readonly chosen: string | undefined }) {
  const read = useGet<StatsAnswer>('/Purchase/stats', { ...query, by: 'day' })
  // The list says it, too.
  if (read.error?.code === 'CUSTOMER_NOT_FOUND') return null
  // Without a filter they are whole days.
  const time = query.from || query.to ? dateTime : day
  return (
    <Loaded read={read}>
      {({ Totals, From, To }) => (
        <>
          <h2>
            {t('word.errorCodes')} <small>{t('refusals.range', { from: time(From), to: time(To) })}</small>
          </h2>
          {Totals.Refusals.Total === 0 ? (
            <p class="empty">{t('refusals.noneCounted')}</p>
          ) : (
            <CodeList counts={Totals.Refusals} chosen={chosen} />
          )}
          <RefusedLogins count={Totals.RefusedLogins.Total} of={query} />
        </>
      )}
    </Loaded>
  )
}

interface CodeListProps {
  readonly counts: StatsAnswer['Totals']['Refusals']
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
  const read = useGet<Refusal>(`/Purchase/refusal/${encodeURIComponent(id)}`)
  return (
    <>
      <p>
        <a href={href('refusals')}>{t('refusals.all')}</a>
      </p>
      <h1>
        {t('word.refusal')} {read.data && <code>{read.data.ErrorCode}</code>}
      </h1>
      <Loaded read={read} tall>
        {(refusal) => <RefusalDetail refusal={refusal} />}
      </Loaded>
    </>
  )
}
