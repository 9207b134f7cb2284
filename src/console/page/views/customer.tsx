import type { Static } from '@sinclair/typebox'
import { Fragment } from 'preact'
import type { CustomerWithKeysSchema } from '#src/customer/operators/operators.schema.ts'
import type { StatsAnswer } from '#src/purchase/stats/stats.schema.ts'
import type { Customer } from '../lib/customers.tsx'
import { foreign, visible } from '../lib/foreign.tsx'
import { dateTime, duration, utcDay } from '../lib/format.ts'
import { href, type ViewProps } from '../lib/route.ts'
import { mayRead, mayWrite, me } from '../lib/session.ts'
import { t } from '../lib/texts.ts'
import { useGet } from '../lib/use-query.ts'
import { allowRules, changeCustomer, disallowRule, setCustomer } from '../parts/action-dialogs.tsx'
import { Bars } from '../parts/bars.tsx'
import { type ApiKey, issueKey } from '../parts/key-dialogs.tsx'
import { hidden, KeyTable } from '../parts/key-table.tsx'
import { Loaded } from '../parts/problem.tsx'
import { Ago, Facts, More, OnlyRead, Roles } from '../parts/words.tsx'

type Answer = Static<typeof CustomerWithKeysSchema>

interface OfCustomer {
  readonly customer: Customer
  readonly reload: () => void
}

export function CustomerView({ parts: [id = ''], parameters }: ViewProps) {
  const read = useGet<Answer>(`/Operator/customer/${encodeURIComponent(id)}`)
  const { data, reload } = read
  const heading = data ? (
    <div class="line heading">
      <h1>
        <span class="foreign name">{visible(data.Customer.Name || data.Customer.Email)}</span>{' '}
        <Roles customer={data.Customer} />
      </h1>
      <Actions customer={data.Customer} reload={reload} />
    </div>
  ) : (
    <h1>{t('word.customer')}</h1>
  )
  return (
    <>
      {heading}
      <Loaded read={read} tall>
        {({ Customer: customer, Keys: keys }) => (
          <>
            <Attention codes={customer.Warnings} />
            <About customer={customer} />
            <Links id={customer.CustomerID} />
            <Keys customer={customer} keys={keys} marked={parameters.key} reload={reload} />
            <Rules customer={customer} reload={reload} />
            <RollUp customer={customer.CustomerID} />
            <Danger customer={customer} reload={reload} />
          </>
        )}
      </Loaded>
    </>
  )
}

const Attention = ({ codes }: { readonly codes: Customer['Warnings'] }) =>
  codes.length > 0 ? (
    <ul class="attention">
      {codes.map((code) => (
        <li key={code}>
          <b>{t(`warning.${code}`)}</b> {t(`warning.do.${code}`)}
        </li>
      ))}
    </ul>
  ) : null

const mayChange = (customer: Customer) => mayWrite.value && !customer.IsRemoved

/** What is done every day. */
function Actions({ customer, reload }: OfCustomer) {
  if (!mayWrite.value) return <OnlyRead />
  if (customer.IsRemoved) return <p class="note">{t('customer.removed')}</p>
  return (
    <p class="line buttons">
      <button onClick={() => setCustomer(customer, reload)}>{t('action.set.title')}</button>
      {!customer.IsEnabled && (
        <button onClick={() => changeCustomer('enable', customer, reload)}>{t('action.enable.verb')}</button>
      )}
      <button class="primary" onClick={() => issueKey(customer, reload)}>
        {t('action.issue.verb')}
      </button>
    </p>
  )
}

/** What takes something away. */
function Danger({ customer, reload }: OfCustomer) {
  const { IsEnabled, IsAPI, CustomerID } = customer
  if (!mayChange(customer) || !(IsEnabled || IsAPI)) return null
  if (CustomerID === me.value?.CustomerID) return <p class="note">{t('customer.self')}</p>
  const button = (action: 'disable' | 'revokeTokens') => (
    <button class="danger" onClick={() => changeCustomer(action, customer, reload)}>
      {t(`action.${action}.verb`)}
    </button>
  )
  return (
    <section class="danger-zone">
      <h2>{t('customer.danger')}</h2>
      <p class="line buttons">
        {IsEnabled && button('disable')} {IsAPI && button('revokeTokens')}
      </p>
    </section>
  )
}

function About({ customer }: { readonly customer: Customer }) {
  const { Email, Name, Note, DisabledReason, CustomerID, CreatedAt, LastUsedAt, SilentSince, SilenceSeconds } = customer
  return (
    <>
      <Facts
        facts={[
          Name !== '' && [t('word.email'), foreign(Email), Email],
          Note !== '' && [
            t('word.note'),
            Note.split('\n').map((line, index) => <div key={index}>{foreign(line)}</div>),
          ],
          DisabledReason !== '' && [t('word.disabledReason'), foreign(DisabledReason)],
          [t('word.added'), dateTime(CreatedAt)],
          [t('word.lastUsed'), <Ago at={LastUsedAt} />],
          SilentSince !== null && [t('customer.silentSince'), <Ago key="since" at={SilentSince} />],
          SilenceSeconds !== null && [
            t('word.silence'),
            SilenceSeconds === 0 ? t('customer.neverSilent') : duration(SilenceSeconds),
          ],
          [t('word.regions'), customer.Regions.join(', ') || t('word.none')],
        ]}
      />
      <More facts={[[t('customer.id'), <code key="id">{CustomerID}</code>, CustomerID]]} />
    </>
  )
}

const links = () => ['deliveries', 'orders', 'refusals', ...(mayRead.value ? (['audit'] as const) : [])] as const

const Links = ({ id }: { readonly id: string }) => (
  <p class="line links">
    {t('customer.more')}{' '}
    {links().map((view) => (
      <Fragment key={view}>
        <a href={href(view, [], { customer: id })}>{t(`word.${view}`)}</a>{' '}
      </Fragment>
    ))}
  </p>
)

function Rules({ customer, reload }: OfCustomer) {
  const rules = customer.AuthorityRules
  const remove = (rule: string) => (
    <button class="small" onClick={() => disallowRule(customer, rule, reload)}>
      {t('word.remove')}
      {hidden(rule)}
    </button>
  )
  return (
    <section>
      <h2>{t('word.rules')}</h2>
      <p class="note">{t('customer.rules.about')}</p>
      {rules.length > 0 && (
        <ul class="line rules">
          {rules.map((rule) => (
            <li key={rule}>
              <code>{foreign(rule)}</code> {mayChange(customer) && remove(rule)}
            </li>
          ))}
        </ul>
      )}
      {rules.length === 0 && <p>{t('customer.rules.none')}</p>}
      {mayChange(customer) && (
        <p>
          <button onClick={() => allowRules(customer, reload)}>{t('action.allow.title')}</button>
        </p>
      )}
    </section>
  )
}

interface KeysProperties extends OfCustomer {
  readonly keys: readonly ApiKey[]
  readonly marked: string | undefined
}

const Keys = ({ customer, keys, marked, reload }: KeysProperties) => (
  <section>
    <h2>{t('customer.keys')}</h2>
    {keys.length === 0 ? (
      <p class="empty">{t('customer.keys.none')}</p>
    ) : (
      <KeyTable customer={customer} keys={keys} marked={marked} reload={reload} />
    )}
  </section>
)

/** What a customer delivered in the last 30 days. */
const RollUp = ({ customer }: { readonly customer: string }) => (
  <section>
    <h2>{t('rollUp.title')}</h2>
    <Loaded read={useGet<StatsAnswer>('/Purchase/stats', { customer, by: 'day' })}>
      {(stats) => <Chart stats={stats} />}
    </Loaded>
  </section>
)

function Chart({ stats: { Periods, Totals } }: { readonly stats: StatsAnswer }) {
  const deliveries = t('word.deliveries')
  const refusals = t('word.refusals')
  const { Deliveries, Refusals, Echoes } = Totals
  return (
    <>
      <p>{t('rollUp.total', { deliveries: Deliveries.Total, refusals: Refusals.Total, echoes: Echoes })}</p>
      <Bars
        title={t('rollUp.days')}
        labels={Periods.map(({ From }) => utcDay(From))}
        series={[
          { name: deliveries, look: 'plain', values: Periods.map((period) => period.Deliveries.Total) },
          { name: refusals, look: 'bad', values: Periods.map((period) => period.Refusals.Total) },
        ]}
      />
    </>
  )
}
