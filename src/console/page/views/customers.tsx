import { signal } from '@preact/signals'
import type { Static } from '@sinclair/typebox'
import { useEffect } from 'preact/hooks'
import type { CustomersSchema } from '#src/customer/operators/operators.schema.ts'
import { get } from '../lib/api.ts'
import { displayName } from '../lib/customers.tsx'
import { foreign } from '../lib/foreign.tsx'
import { whole } from '../lib/format.ts'
import type { Place } from '../lib/pages.ts'
import { href, type ViewProps } from '../lib/route.ts'
import { mayWrite, me } from '../lib/session.ts'
import { t } from '../lib/texts.ts'
import { usePages } from '../lib/use-pages.ts'
import { addCustomer, type Customer, disableSeveral } from '../parts/action-dialogs.tsx'
import { ListHeading } from '../parts/export-menu.tsx'
import { type FilterField, Filters, NoResults } from '../parts/filters.tsx'
import { Chosen, Pick } from '../parts/several.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Ago, OnlyRead, Roles, Warnings } from '../parts/words.tsx'

const ROLES = ['supplier', 'api', 'feed', 'support', 'operator', 'readOnly', 'removed'] as const
const MAX_RULES = 3
const PAGE_ROWS = 100

const fields = (): FilterField[] => [
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

/** The customers that are chosen for one action. */
const chosen = signal<readonly Customer[]>([])

/** Nobody can disable itself. */
const mayChoose = ({ CustomerID, IsEnabled, IsRemoved }: Customer) =>
  mayWrite.value && IsEnabled && !IsRemoved && CustomerID !== me.value?.CustomerID

const COLUMNS: readonly Column<Customer>[] = [
  {
    name: 'name',
    title: () => t('customers.name'),
    cell: (customer) => foreign(displayName(customer)),
  },
  {
    name: 'role',
    title: () => t('word.role'),
    width: '11rem',
    cell: (customer) => <Roles customer={customer} />,
  },
  {
    name: 'rules',
    title: () => t('word.rules'),
    width: '9rem',
    wide: true,
    cell: ({ AuthorityRules }) => <FirstRules rules={AuthorityRules} />,
  },
  { name: 'keys', title: () => t('customer.keys'), width: '7rem', number: true, cell: ({ Keys }) => whole(Keys.Live) },
  {
    name: 'warnings',
    title: () => t('customers.warnings'),
    width: '12rem',
    cell: ({ Warnings: codes }) => <Warnings codes={codes} />,
  },
  {
    name: 'used',
    title: () => t('word.lastUsed'),
    width: '9rem',
    cell: ({ LastUsedAt }, tabIndex) =>
      LastUsedAt ? <Ago at={LastUsedAt} tabIndex={tabIndex} /> : <span class="note">{t('word.never')}</span>,
  },
  {
    name: 'choose',
    title: () => '',
    width: '2.75rem',
    cell: (customer, tabIndex) =>
      mayChoose(customer) && <Pick item={customer} chosen={chosen} name={displayName(customer)} tabIndex={tabIndex} />,
  },
]

const FirstRules = ({ rules }: { readonly rules: readonly string[] }) => (
  <>
    {rules.slice(0, MAX_RULES).map((rule) => (
      <code class="foreign" key={rule}>
        {rule}
      </code>
    ))}
    {rules.length > MAX_RULES && <span class="note">{t('list.more', { count: rules.length - MAX_RULES })}</span>}
  </>
)

type Query = Readonly<Record<string, string | undefined>>

async function loadPage(query: Query, { cursor, signal }: Place<Customer>) {
  const parameters = { ...query, limit: PAGE_ROWS, cursor }
  const data = await get<Static<typeof CustomersSchema>>('/Operator/customers', parameters, { signal })
  return { rows: data.Customers, next: data.NextCursor }
}

export function CustomersView({ parameters: { search, role, enabled } }: ViewProps) {
  const query = { search, role, enabled }
  const pages = usePages((place: Place<Customer>) => loadPage(query, place), [query], keyOf)
  useEffect(() => {
    chosen.value = []
  }, [pages])
  const changed = (customer: Customer) => {
    pages.update(customer)
    chosen.value = chosen.value.filter(({ CustomerID }) => CustomerID !== customer.CustomerID)
  }
  const filtered = Object.values(query).some(Boolean)
  return (
    <>
      <ListHeading title={t('word.customers')} path="/Operator/customers" query={query} name="customers">
        {mayWrite.value && (
          <button class="primary" onClick={addCustomer}>
            {t('action.add.verb')}
          </button>
        )}
      </ListHeading>
      {!mayWrite.value && <OnlyRead />}
      <Filters fields={fields()} parameters={query} />
      <Chosen chosen={chosen}>
        <button class="danger" onClick={() => disableSeveral(chosen.value, changed)}>
          {t('action.disable.verb')}
        </button>
      </Chosen>
      <Table
        label={t('word.customers')}
        columns={COLUMNS}
        pages={pages}
        linkOf={linkOf}
        empty={filtered ? <NoResults fields={fields()} /> : <p>{t('filters.none')}</p>}
      />
    </>
  )
}

const keyOf = ({ CustomerID }: Customer) => CustomerID
const linkOf = ({ CustomerID }: Customer) => href('customer', [CustomerID])
