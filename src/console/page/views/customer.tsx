import { Fragment } from 'preact'
import { get } from '../lib/api.ts'
import { foreign, visible } from '../lib/foreign.tsx'
import { ago, dateTime, duration, utcDay, whole } from '../lib/format.ts'
import { href } from '../lib/route.ts'
import { mayRead, mayWrite, me } from '../lib/session.ts'
import { t } from '../lib/texts.ts'
import { useQuery } from '../lib/use-query.ts'
import { allowRules, changeCustomer, disallowRule, setCustomer } from '../parts/action-dialogs.tsx'
import { issueKey } from '../parts/key-dialogs.tsx'
import { hidden, KeyTable } from '../parts/key-table.tsx'
import { Problem } from '../parts/problem.tsx'
import { Bars, Facts, OnlyRead, Roles } from '../parts/words.tsx'

export function CustomerView({ parts: [id = ''], parameters }) {
  const path = `/Operator/customer/${encodeURIComponent(id)}`
  const { data, error, reload } = useQuery((signal) => get(path, {}, { signal }), [path])
  const customer = data?.Customer
  if (customer === undefined) {
    return (
      <>
        <h1>{t('word.customer')}</h1>
        {error ? <Problem error={error} again={reload} /> : <div class="skeleton tall" aria-busy="true"></div>}
      </>
    )
  }
  return (
    <>
      <h1>
        <span class="foreign name">{visible(customer.Name || customer.Email)}</span> <Roles customer={customer} />
      </h1>
      {error && <Problem error={error} again={reload} />}
      <Attention codes={customer.Warnings} />
      <Actions customer={customer} reload={reload} />
      <About customer={customer} />
      <Links id={customer.CustomerID} />
      <Rules customer={customer} reload={reload} />
      <Keys customer={customer} keys={data.Keys} marked={parameters.key} reload={reload} />
      <RollUp customer={customer.CustomerID} />
    </>
  )
}

const Attention = ({ codes }) =>
  codes.length > 0 && (
    <ul class="attention">
      {codes.map((code) => (
        <li key={code}>
          <b>{t(`warning.${code}`)}</b> {t(`warning.do.${code}`)}
        </li>
      ))}
    </ul>
  )

function Actions({ customer, reload }) {
  if (!mayWrite.value) return <OnlyRead />
  if (customer.IsRemoved) return <p class="note">{t('customer.removed')}</p>
  const button = (action, danger) => (
    <button key={action} class={danger ? 'danger' : undefined} onClick={() => changeCustomer(action, customer, reload)}>
      {t(`action.${action}.verb`)}
    </button>
  )
  const isSelf = customer.CustomerID === me.value.CustomerID
  return (
    <>
      <p class="buttons">
        <button onClick={() => setCustomer(customer, reload)}>{t('action.set.title')}</button>
        {!isSelf && (
          <>
            {customer.IsEnabled ? button('disable', true) : button('enable', false)}{' '}
            {customer.IsAPI && button('revokeTokens', true)}
          </>
        )}
      </p>
      {isSelf && <p class="note">{t('customer.self')}</p>}
    </>
  )
}

const About = ({ customer }) => (
  <Facts
    facts={[
      [t('word.email'), customer.Name && foreign(customer.Email)],
      [t('word.note'), customer.Note !== '' && customer.Note.split('\n').map((line) => <div>{foreign(line)}</div>)],
      [t('word.disabledReason'), customer.DisabledReason && foreign(customer.DisabledReason)],
      [t('customer.id'), <code>{customer.CustomerID}</code>],
      [t('word.added'), dateTime(customer.CreatedAt)],
      [
        t('word.lastUsed'),
        customer.LastUsedAt ? (
          <span title={dateTime(customer.LastUsedAt)}>{ago(customer.LastUsedAt)}</span>
        ) : (
          t('word.never')
        ),
      ],
      [
        t('customer.silentSince'),
        customer.SilentSince && <span title={dateTime(customer.SilentSince)}>{ago(customer.SilentSince)}</span>,
      ],
      [
        t('word.silence'),
        customer.SilenceSeconds === 0
          ? t('customer.neverSilent')
          : customer.SilenceSeconds && duration(customer.SilenceSeconds),
      ],
      [t('word.regions'), customer.Regions.join(', ') || t('word.none')],
    ]}
  />
)

const links = () => ['deliveries', 'orders', 'refusals', ...(mayRead.value ? ['audit'] : [])]

const Links = ({ id }) => (
  <p class="links">
    {t('customer.more')}{' '}
    {links().map((view) => (
      <Fragment key={view}>
        <a href={href(view, [], { customer: id })}>{t(`word.${view}`)}</a>{' '}
      </Fragment>
    ))}
  </p>
)

const mayChange = (customer) => mayWrite.value && !customer.IsRemoved

function Rules({ customer, reload }) {
  const rules = customer.AuthorityRules
  const remove = (rule) => (
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
        <ul class="rules">
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

const Keys = ({ customer, keys, marked, reload }) => (
  <section>
    <h2>{t('customer.keys')}</h2>
    {keys.length === 0 ? (
      <p class="empty">{t('customer.keys.none')}</p>
    ) : (
      <KeyTable customer={customer} keys={keys} marked={marked} reload={reload} />
    )}
    {mayChange(customer) && (
      <p>
        <button class="primary" onClick={() => issueKey(customer, reload)}>
          {t('action.issue.verb')}
        </button>
      </p>
    )}
  </section>
)

/** What a customer delivered in the last 30 days. */
export function RollUp({ customer }) {
  const { data, error, reload } = useQuery(
    (signal) => get('/Purchase/stats', { customer, by: 'day' }, { signal }),
    [customer],
  )
  if (error) return <Problem error={error} again={reload} />
  return (
    <section>
      <h2>{t('rollUp.title')}</h2>
      {data === undefined ? <div class="skeleton" aria-busy="true"></div> : <Chart stats={data} />}
    </section>
  )
}

function Chart({ stats: { Periods, Totals } }) {
  const deliveries = t('word.deliveries')
  const refusals = t('word.refusals')
  const { Deliveries, Refusals, Echoes } = Totals
  return (
    <>
      <p>
        {t('rollUp.total', {
          deliveries: whole(Deliveries.Total),
          refusals: whole(Refusals.Total),
          echoes: whole(Echoes),
        })}
      </p>
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
