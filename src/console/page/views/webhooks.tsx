import { useLayoutEffect, useMemo } from 'preact/hooks'
import { STANDINGS } from '#src/webhook/endpoints/standing.ts'
import { foreign } from '../lib/foreign.tsx'
import { whole } from '../lib/format.ts'
import { createPages } from '../lib/pages.ts'
import { href, type ViewProps } from '../lib/route.ts'
import { mayWrite } from '../lib/session.ts'
import { t } from '../lib/texts.ts'
import { useGet } from '../lib/use-query.ts'
import { choiceField, textField } from '../parts/filter-fields.ts'
import { Filters, NoResults } from '../parts/filters.tsx'
import { agoColumn } from '../parts/list.tsx'
import { Loaded } from '../parts/problem.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { addEndpoint } from '../parts/webhooks/add.tsx'
import { behind, type Endpoint, type Endpoints, pending, StateBadge } from '../parts/webhooks/words.tsx'
import { OnlyRead } from '../parts/words.tsx'

const COLUMNS: readonly Column<Endpoint>[] = [
  { title: 'word.url', cell: ({ URL: url }) => foreign(url) },
  {
    title: 'word.customer',
    width: '9rem',
    wide: true,
    cell: ({ CustomerID, Customer }) =>
      CustomerID === null ? <span class="note">{t('webhook.customer.all')}</span> : foreign(Customer ?? CustomerID),
  },
  {
    title: 'word.state',
    width: '12rem',
    cell: (endpoint) => <StateBadge endpoint={endpoint} />,
  },
  { title: 'webhook.pending', width: '5rem', number: true, cell: pending },
  { title: 'webhook.behind', width: '7rem', cell: behind },
  {
    title: 'webhook.setAside',
    width: '6.5rem',
    number: true,
    cell: ({ SetAside }) => (SetAside === 0 ? whole(0) : <b class="warning">{whole(SetAside)}</b>),
  },
  agoColumn('webhook.lastSuccess', '9rem', ({ LastSuccessAt }) => LastSuccessAt),
]

const fields = () => [
  textField('search', 'webhook.search'),
  choiceField(
    'state',
    'word.state',
    STANDINGS.map((state) => [state, t(`word.${state}`)]),
  ),
]

export function WebhooksView({ parameters: { search = '', state = '' } }: ViewProps) {
  const read = useGet<Endpoints>('/Webhook/endpoints', {}, { isFresh: true })
  return (
    <>
      <div class="line heading">
        <h1>{t('word.webhooks')}</h1>
        {mayWrite.value ? (
          <button class="primary" onClick={addEndpoint}>
            {t('webhook.add.verb')}
          </button>
        ) : (
          <OnlyRead />
        )}
      </div>
      <Loaded read={read} tall>
        {({ Endpoints }) =>
          Endpoints.length === 0 ? <First /> : <List endpoints={Endpoints} search={search} state={state} />
        }
      </Loaded>
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
