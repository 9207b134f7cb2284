import { signal } from '@preact/signals'
import type { Static } from '@sinclair/typebox'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { CustomersSchema } from '#src/customer/operators/operators.schema.ts'
import { copy } from '../../../page/copy.ts'
import { customerName } from '../lib/customers.tsx'
import { foreign } from '../lib/foreign.tsx'
import { ago, preciseTime, whole, zoneName } from '../lib/format.ts'
import { href } from '../lib/route.ts'
import { mayRead } from '../lib/session.ts'
import { named, t } from '../lib/texts.ts'
import { Icon } from './icon.tsx'

const HEIGHT = 56

type Value = number | null | undefined

interface Series {
  readonly name: string
  readonly look: 'plain' | 'bad'
  readonly values: readonly Value[]
}

interface BarsProperties {
  readonly title: string
  /** Names of the bars. */
  readonly labels: readonly string[]
  /** Each lies on the one before. */
  readonly series: readonly Series[]
  readonly format?: (value: number) => string
}

/** A small bar chart, and the same as a table for screen readers. */
export function Bars({ title, labels, series, format = whole }: BarsProperties) {
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

const shown = (value: Value, format: (value: number) => string) =>
  value === null || value === undefined ? '–' : format(value)

interface BarProperties extends Required<Pick<BarsProperties, 'series' | 'format'>> {
  readonly label: string
  readonly index: number
  readonly most: number
}

function bar({ label, index, series, most, format }: BarProperties) {
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

const TICK_MILLISECONDS = 10_000
const SHOWN_MILLISECONDS = 2000

const now = signal(Date.now())
setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, TICK_MILLISECONDS)

/** Copies a text, and says for a moment whether it worked. */
function useCopy(text: string) {
  const [said, setSaid] = useState<string>()
  useEffect(() => {
    const timer = setTimeout(() => setSaid(undefined), SHOWN_MILLISECONDS)
    return () => clearTimeout(timer)
  }, [said])
  return { said, onClick: async () => setSaid(t((await copy(text)) ? 'copy.done' : 'copy.failed')) }
}

/** How long ago something was. The exact time is a hint, and a click copies it. */
export function Ago({ at, tabIndex }: { readonly at: string; readonly tabIndex?: number }) {
  const { said, onClick } = useCopy(at)
  return (
    <button class="only" title={`${preciseTime(at)} ${zoneName()}`} tabIndex={tabIndex} onClick={onClick}>
      {said ?? <time dateTime={at}>{ago(at, Math.max(now.value, Date.parse(at)))}</time>}
    </button>
  )
}

/** A small button that copies a text, beside it. */
export function Copy({ text, name }: { readonly text: string; readonly name: string }) {
  const { said, onClick } = useCopy(text)
  return (
    <button
      class="copy"
      aria-label={t('copy.what', { name })}
      title={said ?? t('copy.what', { name })}
      onClick={onClick}
    >
      <Icon name={said ? 'check' : 'copy'} />
      <span class="visually-hidden" role="status">
        {said}
      </span>
    </button>
  )
}

type Fact = readonly [term: string, value: ComponentChildren, copied?: string | undefined]
export type FactList = readonly (Fact | false | '' | null | undefined)[]

const FactRow = ({ fact: [term, value, copied] }: { readonly fact: Fact }) =>
  value ? (
    <div>
      <dt>{term}</dt>
      <dd>
        {value} {copied && <Copy text={copied} name={term} />}
      </dd>
    </div>
  ) : null

/** Names and values, one below the other. Those without a value are left out; `copied` is what a button beside the value copies. */
export const Facts = ({ facts }: { readonly facts: FactList }) => (
  <dl class="facts">{facts.map((fact) => fact && <FactRow key={fact[0]} fact={fact} />)}</dl>
)

/** Ids and other long names, which only some readers want. */
export const More = ({ facts }: { readonly facts: FactList }) => (
  <details class="more">
    <summary>{t('detail.ids')}</summary>
    <Facts facts={facts} />
  </details>
)

type Customer = Static<typeof CustomersSchema>['Customers'][number]

const ROLES: Partial<Record<Customer['Scope'], string>> = {
  feed: 'feed',
  'operator:support': 'support',
  'operator:read': 'readOnly',
  operator: 'operator',
}

/** What a customer is for: the words of its roles and state. */
export function Roles({ customer }: { readonly customer: Customer }) {
  const { IsAPI, Scope, SeesPayloads, IsEnabled, IsRemoved } = customer
  const withPayloads = Scope === 'operator:support' && SeesPayloads
  const role = withPayloads ? 'supportWithPayloads' : (ROLES[Scope] ?? (IsAPI ? 'api' : 'supplier'))
  return (
    <span class="badges">
      <span class="badge">{named('role', role)}</span>
      {IsRemoved ? (
        <span class="badge failed">{t('role.removed')}</span>
      ) : (
        !IsEnabled && <span class="badge failed">{t('role.disabled')}</span>
      )}
    </span>
  )
}

export const Warnings = ({ codes }: { readonly codes: Customer['Warnings'] }) =>
  codes.map((code) => (
    <span class="badge warning" key={code}>
      {t(`warning.${code}`)}
    </span>
  ))

/** Why nothing can be changed here. */
export const OnlyRead = () => <p class="note">{mayRead.value ? t('customer.readOnly') : t('customer.support')}</p>

interface AuditLinkProperties {
  readonly of: Readonly<Record<string, unknown>>
  readonly children: ComponentChildren
}

/** Leads to the audit log whoever may read it, and shows others the words only. */
export const AuditLink = ({ of, children }: AuditLinkProperties) =>
  mayRead.value ? <a href={href('audit', [], of)}>{children}</a> : <span>{children}</span>

/** Names a customer, and leads to it. */
interface CustomerLinkProperties {
  readonly id: string | null | undefined
  /** As an answer has it. */
  readonly name?: string | undefined
}

export const CustomerLink = ({ id, name }: CustomerLinkProperties) =>
  id ? <a href={href('customer', [id])}>{customerName(id, name)}</a> : <span class="note">–</span>

/** An order, and the way to it if its customer is known. */
export const OrderLink = ({ customer, order }: { readonly customer: string | null; readonly order: string }) =>
  customer ? <a href={href('order', [customer, order])}>{foreign(order)}</a> : foreign(order)
