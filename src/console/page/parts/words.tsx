import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { type Customer, customerName } from '../lib/customers.tsx'
import { foreign } from '../lib/foreign.tsx'
import { ago, preciseTime, zoneName } from '../lib/format.ts'
import { href } from '../lib/route.ts'
import { mayRead } from '../lib/session.ts'
import { named, t } from '../lib/texts.ts'
import { Copy, useCopy } from './copy.tsx'

const TICK_MILLISECONDS = 10_000

const now = signal(Date.now())
setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, TICK_MILLISECONDS)

/** How long ago something was, if ever. The exact time is a hint, and a click copies it. */
export function Ago({ at, tabIndex }: { readonly at: string | null; readonly tabIndex?: number }) {
  const { said, onClick } = useCopy(at ?? '')
  if (at === null) return <span class="note">{t('word.never')}</span>
  return (
    <button class="only" title={`${preciseTime(at)} ${zoneName()}`} tabIndex={tabIndex} onClick={onClick}>
      {said ?? <time dateTime={at}>{ago(at, Math.max(now.value, Date.parse(at)))}</time>}
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

/** What a customer with a scope of more than its own data is. */
export const ROLES: Readonly<Record<string, string | undefined>> = {
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

interface RefusedLoginsProperties {
  readonly count: number
  readonly of: AuditLinkProperties['of']
}

export const RefusedLogins = ({ count, of }: RefusedLoginsProperties) =>
  count > 0 ? (
    <p class="note">
      <AuditLink of={{ ...of, action: 'login.refused' }}>{t('audit.logins', { count })}</AuditLink>
    </p>
  ) : null

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
