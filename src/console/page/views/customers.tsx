import { Fragment } from 'preact'
import { get } from '../lib/api.ts'
import { displayName, rememberCustomers } from '../lib/customers.tsx'
import { foreign } from '../lib/foreign.tsx'
import { ago, whole } from '../lib/format.ts'
import { href } from '../lib/route.ts'
import { mayWrite } from '../lib/session.ts'
import { t } from '../lib/texts.ts'
import { usePages } from '../lib/use-pages.ts'
import { addCustomer } from '../parts/action-dialogs.tsx'
import { Filters } from '../parts/filters.tsx'
import { Table } from '../parts/table.tsx'
import { OnlyRead, Roles, Warnings } from '../parts/words.tsx'

const ROLES = ['supplier', 'api', 'feed', 'support', 'operator', 'readOnly', 'removed']
const MAX_RULES = 3
const PAGE_ROWS = 100

const fields = () => [
  { name: 'search', label: () => t('customers.search'), kind: 'text' },
  {
    name: 'role',
    label: () => t('word.role'),
    kind: 'choice',
    choices: ROLES.map((role) => [role, t(`role.${role}`)]),
  },
  {
    name: 'enabled',
    label: () => t('word.state'),
    kind: 'choice',
    choices: [
      ['true', t('customers.enabled')],
      ['false', t('role.disabled')],
    ],
  },
]

const COLUMNS = [
  {
    name: 'name',
    title: () => t('customers.name'),
    cell: (customer) => foreign(displayName(customer)),
  },
  {
    name: 'role',
    title: () => t('word.role'),
    width: '13rem',
    cell: (customer) => <Roles customer={customer} />,
  },
  {
    name: 'rules',
    title: () => t('word.rules'),
    cell: ({ AuthorityRules }) => <FirstRules rules={AuthorityRules} />,
  },
  { name: 'keys', title: () => t('customer.keys'), width: '6rem', number: true, cell: ({ Keys }) => whole(Keys.Live) },
  {
    name: 'used',
    title: () => t('word.lastUsed'),
    width: '9rem',
    cell: ({ LastUsedAt }) => (LastUsedAt ? ago(LastUsedAt) : <span class="note">{t('word.never')}</span>),
  },
  {
    name: 'warnings',
    title: () => t('customers.warnings'),
    width: '16rem',
    cell: ({ Warnings: codes }) => <Warnings codes={codes} />,
  },
]

const FirstRules = ({ rules }) => (
  <>
    {rules.slice(0, MAX_RULES).map((rule) => (
      <Fragment key={rule}>
        <code class="foreign">{rule}</code>{' '}
      </Fragment>
    ))}
    {rules.length > MAX_RULES && <span class="note">{t('list.more', { count: rules.length - MAX_RULES })}</span>}
  </>
)

async function loadPage(query, { cursor, signal }) {
  const data = await get('/Operator/customers', { ...query, limit: PAGE_ROWS, cursor }, { signal })
  rememberCustomers(data.Customers)
  return { rows: data.Customers, next: data.NextCursor }
}

export function CustomersView({ parameters: { search, role, enabled } }) {
  const query = { search, role, enabled }
  const pages = usePages((place) => loadPage(query, place), [query], keyOf)
  return (
    <>
      <div class="heading">
        <h1>{t('word.customers')}</h1>
        {mayWrite.value ? (
          <button class="primary" onClick={addCustomer}>
            {t('action.add.verb')}
          </button>
        ) : (
          <OnlyRead />
        )}
      </div>
      <Filters fields={fields()} parameters={query} />
      <Table
        label={t('word.customers')}
        columns={COLUMNS}
        pages={pages}
        linkOf={linkOf}
        empty={<p>{t('filters.none')}</p>}
      />
    </>
  )
}

const keyOf = ({ CustomerID }) => CustomerID
const linkOf = ({ CustomerID }) => href('customer', [CustomerID])
