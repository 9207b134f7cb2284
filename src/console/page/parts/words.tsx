import { Fragment } from 'preact'
import { customerName } from '../lib/customers.tsx'
import { foreign } from '../lib/foreign.tsx'
import { whole } from '../lib/format.ts'
import { href } from '../lib/route.ts'
import { mayRead } from '../lib/session.ts'
import { t } from '../lib/texts.ts'

const HEIGHT = 56

/**
 * A small bar chart, and the same as a table for screen readers. `labels` name the bars; each of `series` ({ name, look, values })
 * lies on the one before; a value may be null.
 */
export function Bars({ title, labels, series, format = whole }) {
  const sums = labels.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0))
  const most = Math.max(0, ...sums)
  return (
    <figure class="bars">
      <figcaption>
        <span>{title}</span>
        {series.map(
          ({ name, look }) =>
            name !== title && (
              <small key={look} class={`legend ${look}`}>
                {name}
              </small>
            ),
        )}
        <span class="note">{t('bars.most', { value: format(most) })}</span>
      </figcaption>
      <svg aria-hidden="true" viewBox={`0 0 ${labels.length * 10} ${HEIGHT}`} preserveAspectRatio="none">
        {labels.map((label, index) => bar({ label, index, series, most, format }))}
      </svg>
      <div class="ends note" aria-hidden="true">
        <span>{labels[0]}</span>
        <span>{labels.at(-1)}</span>
      </div>
      <div class="visually-hidden">
        <table>
          <caption>{title}</caption>
          <thead>
            <tr>
              <th scope="col">{t('word.time')}</th>
              {series.map(({ name }) => (
                <th scope="col">{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {labels.map((label, index) => (
              <tr>
                <th scope="row">{label}</th>
                {series.map(({ values }) => (
                  <td>{shown(values[index], format)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  )
}

const shown = (value, format) => (value === null || value === undefined ? '–' : format(value))

function bar({ label, index, series, most, format }) {
  let top = HEIGHT
  const said = series.map(({ name, values }) => `${name}: ${shown(values[index], format)}`)
  return (
    <g>
      <title>{`${label}\n${said.join('\n')}`}</title>
      <rect class="behind" x={index * 10} y="0" width="10" height={HEIGHT} />
      {series.map(({ look, values }) => {
        const value = values[index] ?? 0
        if (value === 0) return null
        const height = Math.max((value / most) * (HEIGHT - 2), 1)
        top -= height
        return <rect class={look} x={index * 10 + 1.5} y={top} width="7" height={height} />
      })}
    </g>
  )
}

const ROLES = { feed: 'feed', 'operator:support': 'support', 'operator:read': 'readOnly', operator: 'operator' }

/** What a customer is for: the words of its roles and state. */
export function Roles({ customer }) {
  const { IsAPI, Scope, SeesPayloads, IsEnabled, IsRemoved } = customer
  const withPayloads = Scope === 'operator:support' && SeesPayloads
  const role = withPayloads ? 'supportWithPayloads' : (ROLES[Scope] ?? (IsAPI ? 'api' : 'supplier'))
  return (
    <span class="badges">
      <span class="badge">{t(`role.${role}`)}</span>
      {IsRemoved ? (
        <span class="badge failed">{t('role.removed')}</span>
      ) : (
        !IsEnabled && <span class="badge failed">{t('role.disabled')}</span>
      )}
    </span>
  )
}

export const Warnings = ({ codes }) =>
  codes.map((code) => (
    <Fragment key={code}>
      <span class="badge warning">{t(`warning.${code}`)}</span>{' '}
    </Fragment>
  ))

/** Why nothing can be changed here. */
export const OnlyRead = () => <p class="note">{mayRead.value ? t('customer.readOnly') : t('customer.support')}</p>

/** Leads to the audit log whoever may read it, and shows others the words only. */
export const AuditLink = ({ of, children }) =>
  mayRead.value ? <a href={href('audit', [], of)}>{children}</a> : <span>{children}</span>

/** Names and values. Those without a value are left out. */
export const Facts = ({ facts }) => (
  <dl class="facts">
    {facts
      .filter((fact) => fact?.[1])
      .map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
)

/** Names a customer, and leads to it. */
export const CustomerLink = ({ id }) =>
  id ? <a href={href('customer', [id])}>{customerName(id)}</a> : <span class="note">–</span>

/** An order, and the way to it if its customer is known. */
export const OrderLink = ({ customer, order }) =>
  customer ? <a href={href('order', [customer, order])}>{foreign(order)}</a> : foreign(order)
