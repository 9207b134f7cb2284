import { get } from '../lib/api.js'
import { displayName, rememberCustomers } from '../lib/customers.js'
import { foreign } from '../lib/foreign.js'
import { ago, whole } from '../lib/format.js'
import { html } from '../lib/html.js'
import { href } from '../lib/route.js'
import { mayWrite } from '../lib/session.js'
import { t } from '../lib/texts.js'
import { usePages } from '../lib/use-pages.js'
import { addCustomer } from '../parts/action-dialogs.js'
import { Filters } from '../parts/filters.js'
import { Table } from '../parts/table.js'
import { OnlyRead, Roles, Warnings } from '../parts/words.js'

const ROLES = ['supplier', 'api', 'feed', 'support', 'operator', 'readOnly', 'removed']
const MAX_RULES = 3
const PAGE_ROWS = 100

const fields = () => [
  { name: 'search', label: () => t('customers.search'), kind: 'text' },
  {
    name: 'role',
    label: () => t('customers.role'),
    kind: 'choice',
    choices: ROLES.map((role) => [role, t(`role.${role}`)]),
  },
  {
    name: 'enabled',
    label: () => t('customers.state'),
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
    title: () => t('customers.role'),
    width: '13rem',
    cell: (customer) => html`<${Roles} customer=${customer} />`,
  },
  {
    name: 'rules',
    title: () => t('customer.rules'),
    cell: ({ AuthorityRules }) => html`<${FirstRules} rules=${AuthorityRules} />`,
  },
  { name: 'keys', title: () => t('customer.keys'), width: '6rem', number: true, cell: ({ Keys }) => whole(Keys.Live) },
  {
    name: 'used',
    title: () => t('customer.lastUsed'),
    width: '9rem',
    cell: ({ LastUsedAt }) =>
      LastUsedAt ? ago(LastUsedAt) : html`<span class="note">${t('customer.neverUsed')}</span>`,
  },
  {
    name: 'warnings',
    title: () => t('customers.warnings'),
    width: '16rem',
    cell: ({ Warnings: codes }) => html`<${Warnings} codes=${codes} />`,
  },
]

const FirstRules = ({ rules }) => html`
  ${rules.slice(0, MAX_RULES).map((rule) => html`<code class="foreign" key=${rule}>${rule}</code> `)}
  ${rules.length > MAX_RULES && html`<span class="note">${t('list.more', { count: rules.length - MAX_RULES })}</span>`}
`

async function loadPage(query, { cursor, signal }) {
  const data = await get('/Operator/customers', { ...query, limit: PAGE_ROWS, cursor }, { signal })
  rememberCustomers(data.Customers)
  return { rows: data.Customers, next: data.NextCursor }
}

export function CustomersView({ parameters: { search, role, enabled } }) {
  const query = { search, role, enabled }
  const pages = usePages((place) => loadPage(query, place), [query], keyOf)
  return html`
    <div class="heading">
      <h1>${t('view.customers')}</h1>
      ${mayWrite.value ? html`<button class="primary" onClick=${addCustomer}>${t('action.add.verb')}</button>` : html`<${OnlyRead} />`}
    </div>
    <${Filters} fields=${fields()} parameters=${query} />
    <${Table} label=${t('view.customers')} columns=${COLUMNS} pages=${pages} linkOf=${linkOf} empty=${html`<p>${t('filters.none')}</p>`} />
  `
}

const keyOf = ({ CustomerID }) => CustomerID
const linkOf = ({ CustomerID }) => href('customer', [CustomerID])
