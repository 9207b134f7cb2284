import { get, useLoad } from '../lib/api.ts'
import { customerName } from '../lib/customers.tsx'
import { foreign } from '../lib/foreign.tsx'
import { dateTime, whole } from '../lib/format.ts'
import { href, setParameters } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { usePages } from '../lib/use-pages.ts'
import { Filters } from '../parts/filters.tsx'
import { Problem } from '../parts/problem.tsx'
import { RefusalDetail, whatToDo, whyRefused } from '../parts/refusal.tsx'
import { Table } from '../parts/table.tsx'
import { AuditLink } from '../parts/words.tsx'

const PAGE_ROWS = 100

const fields = () => [
  { name: 'customer', label: () => t('word.customer'), kind: 'text' },
  { name: 'code', label: () => t('word.errorCode'), kind: 'text' },
  { name: 'orderId', label: () => t('word.order'), kind: 'text' },
  { name: 'requestId', label: () => t('word.request'), kind: 'text' },
  { name: 'from', label: () => t('word.from'), kind: 'time' },
  { name: 'to', label: () => t('filters.to'), kind: 'time' },
]

const COLUMNS = [
  { name: 'at', title: () => t('refusals.at'), width: '11rem', cell: ({ RefusedAt }) => dateTime(RefusedAt) },
  {
    name: 'code',
    title: () => t('word.errorCode'),
    width: '16rem',
    cell: ({ ErrorCode }) => <code>{ErrorCode}</code>,
    only: ({ ErrorCode }) => ({ code: ErrorCode }),
  },
  {
    name: 'customer',
    title: () => t('word.customer'),
    cell: ({ CustomerID }) =>
      CustomerID ? customerName(CustomerID) : <span class="note">{t('refusals.nobody')}</span>,
    only: ({ CustomerID }) => CustomerID && { customer: CustomerID },
  },
  {
    name: 'order',
    title: () => t('word.order'),
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
    title: () => t('refusals.body'),
    width: '5rem',
    cell: ({ PayloadBytes }) => PayloadBytes !== undefined && t('refusals.kept'),
  },
]

const keyOf = ({ RefusalID }) => RefusalID
const linkOf = ({ RefusalID }) => href('refusals', [RefusalID])

async function loadPage(query, { cursor, signal }) {
  const data = await get('/Purchase/refusals', { ...query, limit: PAGE_ROWS, cursor }, { signal })
  return { rows: data.Refusals, next: data.NextCursor }
}

export const RefusalsView = ({ parts: [id], parameters }) =>
  id ? <RefusalView id={id} /> : <List parameters={parameters} />

function List({ parameters: { customer, code, orderId, requestId, from, to } }) {
  const query = { customer, code, orderId, requestId, from, to }
  const pages = usePages((place) => loadPage(query, place), [query], keyOf)
  return (
    <>
      <h1>{t('word.refusals')}</h1>
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

/** How many there were of each code, and what to do about it. */
function Codes({ query, chosen }) {
  const { data, error, reload } = useLoad(
    (signal) => get('/Purchase/stats', { ...query, by: 'day' }, { signal }),
    [query],
  )
  if (error) return <Problem error={error} again={reload} />
  if (data === undefined) return <div class="skeleton" aria-busy="true"></div>
  const { Refusals, RefusedLogins } = data.Totals
  const range = { from: dateTime(data.From), to: dateTime(data.To) }
  return (
    <>
      <h2>
        {t('word.errorCodes')} <small>{t('refusals.range', range)}</small>
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

function CodeList({ counts: { Total, ByCode }, chosen }) {
  const codes = Object.entries(ByCode).sort(([, one], [, other]) => other - one)
  return (
    <ul class="codes">
      {codes.map(([code, count]) => (
        <li key={code}>
          <button
            aria-pressed={String(code === chosen)}
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

const SECOND_MILLISECONDS = 1000
const MAX_ROWS = 100

/** A refusal's id begins with its time (UUID version 7), and a list of that second contains it. */
async function find(id, signal) {
  const at = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
  const missing = Object.assign(new Error(), { code: 'REFUSAL_NOT_FOUND' })
  if (!(at < 8.64e15)) throw missing
  const time = (change) => new Date(at + change).toISOString()
  const range = { from: time(-SECOND_MILLISECONDS), to: time(SECOND_MILLISECONDS), limit: MAX_ROWS }
  for (let cursor; cursor !== null; ) {
    const { Refusals, NextCursor } = await get('/Purchase/refusals', { ...range, cursor }, { signal })
    const found = Refusals.find(({ RefusalID }) => RefusalID === id)
    if (found) return found
    cursor = NextCursor
  }
  throw missing
}

function RefusalView({ id }) {
  const { data, error, reload } = useLoad((signal) => find(id, signal), [id])
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
