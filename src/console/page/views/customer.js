import { get, useLoad } from '../lib/api.js'
import { foreign, visible } from '../lib/foreign.js'
import { ago, dateTime, day, duration, utcDay, whole } from '../lib/format.js'
import { html } from '../lib/html.js'
import { href } from '../lib/route.js'
import { mayRead, mayWrite, me } from '../lib/session.js'
import { t } from '../lib/texts.js'
import {
  allowRules,
  changeCustomer,
  disallowRule,
  issueKey,
  revokeKey,
  rotateKey,
  setCustomer,
} from '../parts/action-dialogs.js'
import { Problem } from '../parts/problem.js'
import { Bars, Facts, OnlyRead, Roles } from '../parts/words.js'

export function CustomerView({ parts: [id = ''], parameters }) {
  const path = `/Operator/customer/${encodeURIComponent(id)}`
  const { data, error, reload } = useLoad((signal) => get(path, {}, { signal }), [path])
  const customer = data?.Customer
  if (customer === undefined) {
    return html`
      <h1>${t('view.customer')}</h1>
      ${error ? html`<${Problem} error=${error} again=${reload} />` : html`<div class="skeleton tall" aria-busy="true"></div>`}
    `
  }
  return html`
    <h1><span class="foreign name">${visible(customer.Name || customer.Email)}</span> <${Roles} customer=${customer} /></h1>
    ${error && html`<${Problem} error=${error} again=${reload} />`}
    <${Attention} codes=${customer.Warnings} />
    <${Actions} customer=${customer} reload=${reload} />
    <${About} customer=${customer} />
    <${Links} id=${customer.CustomerID} />
    <${Rules} customer=${customer} reload=${reload} />
    <${Keys} customer=${customer} keys=${data.Keys} marked=${parameters.key} reload=${reload} />
    <${RollUp} customer=${customer.CustomerID} />
  `
}

const Attention = ({ codes }) =>
  codes.length > 0 &&
  html`<ul class="attention">${codes.map((code) => html`<li key=${code}><b>${t(`warning.${code}`)}</b> ${t(`warning.do.${code}`)}</li>`)}</ul>`

function Actions({ customer, reload }) {
  if (!mayWrite.value) return html`<${OnlyRead} />`
  if (customer.IsRemoved) return html`<p class="note">${t('customer.removed')}</p>`
  const button = (action, danger) => html`
    <button key=${action} class=${danger ? 'danger' : undefined} onClick=${() => changeCustomer(action, customer, reload)}>${t(`action.${action}.verb`)}</button>
  `
  const isSelf = customer.CustomerID === me.value.CustomerID
  return html`
    <p class="buttons">
      <button onClick=${() => setCustomer(customer, reload)}>${t('action.set.verb')}</button>
      ${!isSelf && html`${customer.IsEnabled ? button('disable', true) : button('enable', false)} ${customer.IsAPI && button('revokeTokens', true)}`}
    </p>
    ${isSelf && html`<p class="note">${t('customer.self')}</p>`}
  `
}

const About = ({ customer }) => html`
  <${Facts}
    facts=${[
      [t('customer.email'), customer.Name && foreign(customer.Email)],
      [
        t('customer.note'),
        customer.Note !== '' && customer.Note.split('\n').map((line) => html`<div>${foreign(line)}</div>`),
      ],
      [t('customer.disabledReason'), customer.DisabledReason && foreign(customer.DisabledReason)],
      [t('customer.id'), html`<code>${customer.CustomerID}</code>`],
      [t('customer.created'), dateTime(customer.CreatedAt)],
      [
        t('customer.lastUsed'),
        customer.LastUsedAt
          ? html`<span title=${dateTime(customer.LastUsedAt)}>${ago(customer.LastUsedAt)}</span>`
          : t('customer.neverUsed'),
      ],
      [
        t('customer.silentSince'),
        customer.SilentSince && html`<span title=${dateTime(customer.SilentSince)}>${ago(customer.SilentSince)}</span>`,
      ],
      [
        t('customer.silentAfter'),
        customer.SilenceSeconds === 0
          ? t('customer.neverSilent')
          : customer.SilenceSeconds && duration(customer.SilenceSeconds),
      ],
      [t('customer.regions'), customer.Regions.join(', ') || t('customer.noRegions')],
    ]}
  />
`

const links = () => ['deliveries', 'orders', 'refusals', ...(mayRead.value ? ['audit'] : [])]

const Links = ({ id }) => html`
  <p class="links">${t('customer.more')} ${links().map((view) => html`<a key=${view} href=${href(view, [], { customer: id })}>${t(`view.${view}`)}</a> `)}</p>
`

const mayChange = (customer) => mayWrite.value && !customer.IsRemoved

function Rules({ customer, reload }) {
  const rules = customer.AuthorityRules
  const remove = (rule) => html`
    <button class="small" onClick=${() => disallowRule(customer, rule, reload)}>${t('action.disallow.short')}${hidden(rule)}</button>
  `
  return html`
    <section>
      <h2>${t('customer.rules')}</h2>
      <p class="note">${t('customer.rules.about')}</p>
      ${rules.length > 0 && html`<ul class="rules">${rules.map((rule) => html`<li key=${rule}><code>${foreign(rule)}</code> ${mayChange(customer) && remove(rule)}</li>`)}</ul>`}
      ${rules.length === 0 && html`<p>${t('customer.rules.none')}</p>`}
      ${mayChange(customer) && html`<p><button onClick=${() => allowRules(customer, reload)}>${t('action.allow.verb')}</button></p>`}
    </section>
  `
}

const Keys = ({ customer, keys, marked, reload }) => html`
  <section>
    <h2>${t('customer.keys')}</h2>
    ${keys.length === 0 ? html`<p class="empty">${t('customer.keys.none')}</p>` : html`<${KeyTable} customer=${customer} keys=${keys} marked=${marked} reload=${reload} />`}
    ${mayChange(customer) && html`<p><button class="primary" onClick=${() => issueKey(customer, reload)}>${t('action.issue.verb')}</button></p>`}
  </section>
`

/** Tells buttons with the same text apart. */
const hidden = (name) => html`<span class="visually-hidden"> ${name}</span>`

const COLUMNS = ['label', 'state', 'created', 'used', 'expires', 'limits']

/** The keys of a customer: live ones first, then the newest. */
export function KeyTable({ customer, keys, marked, reload }) {
  const live = ({ State }) => State === 'live'
  const newest = (one, other) => other.CreatedAt.localeCompare(one.CreatedAt)
  const shown = keys.toSorted((one, other) => live(other) - live(one) || newest(one, other))
  return html`
    <div class="table" tabindex="0" role="region" aria-label=${t('customer.keys')}>
      <table class="key-table">
        <thead>
          <tr>${COLUMNS.map((name) => html`<th scope="col">${t(`key.column.${name}`)}</th>`)}<td></td></tr>
        </thead>
        <tbody>
          ${shown.map((key) => html`<${Row} key=${key.KeyID} ...${{ customer, apiKey: key, marked: key.KeyID === marked, reload }} />`)}
        </tbody>
      </table>
    </div>
  `
}

function Row({ customer, apiKey, marked, reload }) {
  const { KeyID, Label, State, CreatedAt, ExpiresAt, LastUse, Networks, RateLimit } = apiKey
  return html`
    <tr class=${marked ? 'marked' : undefined}>
      <th scope="row">${foreign(Label || t('key.noLabel'))}<br /><code>${KeyID}</code></th>
      <td><${KeyState} apiKey=${apiKey} /></td>
      <td>${day(CreatedAt)}</td>
      <td>
        ${LastUse ? html`<span title=${dateTime(LastUse.UsedAt)}>${ago(LastUse.UsedAt)}</span>${LastUse.Address && html`<br /><code>${LastUse.Address}</code>`}` : t('customer.neverUsed')}
      </td>
      <td>${ExpiresAt ? html`<span title=${dateTime(ExpiresAt)}>${day(ExpiresAt)}</span>` : t('key.forever')}</td>
      <td>
        ${Networks ? Networks.map((network) => html`<code key=${network}>${network}</code> `) : t('key.anywhere')}<br />
        ${RateLimit ? t('key.perMinute', { value: whole(RateLimit) }) : t('key.noLimit')}
      </td>
      <td class="row-actions">
        ${mayWrite.value && State === 'live' && html`<${RowActions} ...${{ customer, apiKey, reload }} />`}
        <a href=${href('deliveries', [], { key: KeyID })}>${t('key.deliveries')}${hidden(Label || KeyID)}</a>${' '}
        ${mayRead.value && html`<a href=${href('audit', [], { keyId: KeyID })}>${t('view.audit')}${hidden(Label || KeyID)}</a>`}
      </td>
    </tr>
  `
}

function KeyState({ apiKey: { State, ExpiresSoon, SuccessorID } }) {
  const look = State === 'live' ? (ExpiresSoon ? 'warning' : 'good') : 'failed'
  return html`
    <span class=${`badge ${look}`}>${t(`key.state.${State === 'live' && ExpiresSoon ? 'soon' : State}`)}</span>
    ${SuccessorID && html`<br /><small>${t('key.rotated')}</small>`}
  `
}

const RowActions = ({ customer, apiKey, reload }) => html`
  ${apiKey.SuccessorID === null && html`<button class="small" onClick=${() => rotateKey(customer, apiKey, reload)}>${t('action.rotate.short')}${hidden(apiKey.Label || apiKey.KeyID)}</button>`}
  ${' '}<button class="small danger" onClick=${() => revokeKey(customer, apiKey, reload)}>${t('action.revoke.short')}${hidden(apiKey.Label || apiKey.KeyID)}</button>
  ${' '}
`

/** What a customer delivered in the last 30 days. */
export function RollUp({ customer }) {
  const { data, error, reload } = useLoad(
    (signal) => get('/Purchase/stats', { customer, by: 'day' }, { signal }),
    [customer],
  )
  if (error) return html`<${Problem} error=${error} again=${reload} />`
  return html`
    <section>
      <h2>${t('rollUp.title')}</h2>
      ${data === undefined ? html`<div class="skeleton" aria-busy="true"></div>` : html`<${Chart} stats=${data} />`}
    </section>
  `
}

function Chart({ stats: { Periods, Totals } }) {
  const deliveries = t('rollUp.deliveries')
  const refusals = t('rollUp.refusals')
  const { Deliveries, Refusals, Echoes } = Totals
  return html`
    <p>
      ${t('rollUp.total', { deliveries: whole(Deliveries.Total), refusals: whole(Refusals.Total), echoes: whole(Echoes) })}
    </p>
    <${Bars}
      title=${t('rollUp.days')}
      labels=${Periods.map(({ From }) => utcDay(From))}
      series=${[
        { name: deliveries, look: 'plain', values: Periods.map((period) => period.Deliveries.Total) },
        { name: refusals, look: 'bad', values: Periods.map((period) => period.Refusals.Total) },
      ]}
    />
  `
}
