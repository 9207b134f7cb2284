import { useLayoutEffect, useMemo } from 'preact/hooks'
import { STANDINGS } from '#src/webhook/endpoints/standing.ts'
import { get } from '../lib/api.ts'
import { foreign } from '../lib/foreign.tsx'
import { whole } from '../lib/format.ts'
import { createPages } from '../lib/pages.ts'
import { href, type ViewProps } from '../lib/route.ts'
import { mayWrite } from '../lib/session.ts'
import { t } from '../lib/texts.ts'
import { useQuery } from '../lib/use-query.ts'
import { type FilterField, Filters, NoResults } from '../parts/filters.tsx'
import { Problem } from '../parts/problem.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { addEndpoint } from '../parts/webhooks/add.tsx'
import { behind, type Endpoint, type Endpoints, pending, StateBadge } from '../parts/webhooks/words.tsx'
import { Ago, OnlyRead } from '../parts/words.tsx'

const COLUMNS: readonly Column<Endpoint>[] = [
  { name: 'url', title: () => t('word.url'), cell: ({ URL: url }) => foreign(url) },
  {
    name: 'customer',
    title: () => t('word.customer'),
    width: '9rem',
    wide: true,
    cell: ({ CustomerID, Customer }) =>
      CustomerID === null ? <span class="note">{t('webhook.customer.all')}</span> : foreign(Customer ?? CustomerID),
  },
  {
    name: 'state',
    title: () => t('word.state'),
    width: '12rem',
    cell: (endpoint) => <StateBadge endpoint={endpoint} />,
  },
  { name: 'pending', title: () => t('webhook.pending'), width: '5rem', number: true, cell: pending },
  { name: 'behind', title: () => t('webhook.behind'), width: '7rem', cell: behind },
  {
    name: 'setAside',
    title: () => t('webhook.setAside'),
    width: '6.5rem',
    number: true,
    cell: ({ SetAside }) => (SetAside === 0 ? whole(0) : <b class="warning">{whole(SetAside)}</b>),
  },
  {
    name: 'success',
    title: () => t('webhook.lastSuccess'),
    width: '9rem',
    cell: ({ LastSuccessAt }, tabIndex) =>
      LastSuccessAt ? <Ago at={LastSuccessAt} tabIndex={tabIndex} /> : <span class="note">{t('word.never')}</span>,
  },
]

const fields = (): FilterField[] => [
  { name: 'search', label: () => t('webhook.search'), kind: 'text' },
  {
    name: 'state',
    label: () => t('word.state'),
    kind: 'choice',
    choices: STANDINGS.map((state) => [state, t(`word.${state}`)] as const),
  },
]

const read = (signal: AbortSignal): Promise<Endpoints> => get('/Webhook/endpoints', {}, { signal })

export function WebhooksView({ parameters: { search = '', state = '' } }: ViewProps) {
  const { data, error, reload } = useQuery(read, [], { isFresh: true })
  const endpoints = data?.Endpoints
  return (
    <>
      <div class="heading">
        <h1>{t('word.webhooks')}</h1>
        {mayWrite.value ? (
          <button class="primary" onClick={addEndpoint}>
            {t('webhook.add.verb')}
          </button>
        ) : (
          <OnlyRead />
        )}
      </div>
      {error && <Problem error={error} again={reload} />}
      {endpoints === undefined && !error && <div class="skeleton tall" aria-busy="true"></div>}
      {endpoints?.length === 0 && <First />}
      {endpoints && endpoints.length > 0 && <List endpoints={endpoints} search={search} state={state} />}
    </>
  )
}

const COMMAND = 'teslim webhook add --url https://backoffice.example/webhooks'

/** Teaches how to add the first endpoint. */
const First = () => (
  <div class="empty">
    <p>{t('webhook.none')}</p>
    <pre tabIndex={0} role="region" aria-label={t('webhook.command')}>
      {COMMAND}
    </pre>
    <p class="note">{t('webhook.none.secret')}</p>
  </div>
)

const keyOf = ({ EndpointID }: Endpoint): string => EndpointID
const linkOf = ({ EndpointID }: Endpoint): string => href('webhook', [EndpointID])

interface ListProps {
  readonly endpoints: readonly Endpoint[]
  readonly search: string
  readonly state: string
}

function List({ endpoints, search, state }: ListProps) {
  // The whole list is read at once: there is no further page.
  const pages = useMemo(() => createPages<Endpoint>(async () => ({ rows: [], next: null }), keyOf), [])
  const wanted = search.trim().toLowerCase()
  const fits = ({ URL: url, EndpointID, CustomerID, Customer = '' }: Endpoint): boolean =>
    [url, EndpointID, CustomerID ?? '', Customer].some((text) => text.toLowerCase().includes(wanted))
  const shown = endpoints.filter((each) => (state === '' || each.State === state) && (wanted === '' || fits(each)))
  useLayoutEffect(() => pages.replace({ rows: shown, next: null }))
  return (
    <>
      <Filters fields={fields()} parameters={{ search, state }} />
      <div class="endpoints">
        <Table
          label={t('word.webhooks')}
          columns={COLUMNS}
          pages={pages}
          linkOf={linkOf}
          empty={<NoResults fields={fields()} />}
        />
      </div>
    </>
  )
}
