import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Customer, displayName } from '../lib/customers.tsx'
import { foreign } from '../lib/foreign.tsx'
import { whole } from '../lib/format.ts'
import type { Place } from '../lib/pages.ts'
import { href, type ViewProps } from '../lib/route.ts'
import { mayWrite, me } from '../lib/session.ts'
import { t } from '../lib/texts.ts'
import { readPage, usePages } from '../lib/use-pages.ts'
import { addCustomer, disableSeveral } from '../parts/action-dialogs.tsx'
import { choiceField, textField } from '../parts/filter-fields.ts'
import { agoColumn, List } from '../parts/list.tsx'
import { Chosen, Pick } from '../parts/several.tsx'
import type { Column } from '../parts/table.tsx'
import { OnlyRead, Roles, Warnings } from '../parts/words.tsx'

const ROLES = ['supplier', 'api', 'feed', 'support', 'operator', 'readOnly', 'removed'] as const
const MAX_RULES = 3

const fields = () => [
  textField('search', 'customers.search'),
  choiceField(
    'role',
    'word.role',
    ROLES.map((role) => [role, t(`role.${role}`)]),
  ),
  choiceField('enabled', 'word.state', [
    ['true', t('customers.enabled')],
    ['false', t('role.disabled')],
  ]),
]

/** The customers that are chosen for one action. */
const chosen = signal<readonly Customer[]>([])

/** Nobody can disable itself. */
const mayChoose = ({ CustomerID, IsEnabled, IsRemoved }: Customer) =>
  mayWrite.value && IsEnabled && !IsRemoved && CustomerID !== me.value?.CustomerID

const COLUMNS: readonly Column<Customer>[] = [
  {
    title: 'customers.name',
    cell: (customer) => foreign(displayName(customer)),
  },
  {
    title: 'word.role',
    width: '11rem',
    cell: (customer) => <Roles customer={customer} />,
  },
  {
    title: 'word.rules',
    width: '9rem',
    wide: true,
    cell: ({ AuthorityRules }) => <FirstRules rules={AuthorityRules} />,
  },
  { title: 'customer.keys', width: '7rem', number: true, cell: ({ Keys }) => whole(Keys.Live) },
  {
    title: 'customers.warnings',
    width: '12rem',
    cell: ({ Warnings: codes }) => <Warnings codes={codes} />,
  },
  agoColumn('word.lastUsed', '9rem', ({ LastUsedAt }) => LastUsedAt),
  {
    width: '2.75rem',
    cell: (customer, tabIndex) =>
      mayChoose(customer) && <Pick item={customer} chosen={chosen} name={displayName(customer)} tabIndex={tabIndex} />,
  },
]

const FirstRules = ({ rules }: { readonly rules: readonly string[] }) => (
  <>
    <code class="foreign">{rules.slice(0, MAX_RULES).join(' ')}</code>{' '}
    {rules.length > MAX_RULES && <span class="note">{t('list.more', { count: rules.length - MAX_RULES })}</span>}
  </>
)

export function CustomersView({ parameters: { search, role, enabled } }: ViewProps) {
  const query = { search, role, enabled }
  const load = (place: Place<Customer>) => readPage<Customer>('/Operator/customers', 'Customers', query, place)
  const pages = usePages(load, [query], keyOf)
  useEffect(() => {
    chosen.value = []
  }, [pages])
  const changed = (customer: Customer) => {
    pages.update(customer)
    chosen.value = chosen.value.filter(({ CustomerID }) => CustomerID !== customer.CustomerID)
  }
  const add = (
    <button class="primary" onClick={addCustomer}>
      {t('action.add.verb')}
    </button>
  )
  return (
    <List
      name="customers"
      path="/Operator/customers"
      query={query}
      fields={fields()}
      columns={COLUMNS}
      pages={pages}
      linkOf={linkOf}
      none={<p>{t('filters.none')}</p>}
      actions={mayWrite.value ? add : <OnlyRead />}
    >
      <Chosen chosen={chosen}>
        <button class="danger" onClick={() => disableSeveral(chosen.value, changed)}>
          {t('action.disable.verb')}
        </button>
      </Chosen>
    </List>
  )
}

const keyOf = ({ CustomerID }: Customer) => CustomerID
const linkOf = ({ CustomerID }: Customer) => href('customer', [CustomerID])
