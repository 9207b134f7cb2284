import type { Customer, Scope } from '#src/store/store.ts'

/**
 * - `all`: it concerns all customers, and not only the one of the token
 * - `look`: orders, deliveries, refusals and counts, without payloads
 * - `payloads`: what was sent, and the feed
 * - `operate`: customers, the search and the live view of operators
 * - `read`: everything else that operators see: the audit log, webhooks, the health of the service
 * - `change`: everything that operators change
 */
export type Right = 'all' | 'look' | 'payloads' | 'operate' | 'read' | 'change'
export type Rights = ReadonlySet<Right>

/** With any of them a token also tells whose it is, and reads a delivery by its receipt. */
const RIGHTS: Readonly<Record<Scope, Rights>> = {
  customer: new Set(['look', 'payloads']),
  feed: new Set(['all', 'payloads']),
  'operator:support': new Set(['all', 'look', 'operate']),
  'operator:read': new Set(['all', 'look', 'payloads', 'operate', 'read']),
  operator: new Set(['all', 'look', 'payloads', 'operate', 'read', 'change']),
}
export const SCOPES = Object.keys(RIGHTS) as readonly Scope[]
const SUPPORT_WITH_PAYLOADS: Rights = new Set<Right>([...RIGHTS['operator:support'], 'payloads'])

/** What decides about rights. `payloads` counts for `operator:support` only. */
export type Role = Pick<Customer, 'scope' | 'payloads'>

export const rightsOf = ({ scope, payloads }: Role): Rights =>
  scope === 'operator:support' && payloads ? SUPPORT_WITH_PAYLOADS : RIGHTS[scope]

/** Whether somebody who becomes `now` keeps every right. */
export const keepsRights = (former: Role, now: Role): boolean => rightsOf(former).isSubsetOf(rightsOf(now))

const WITH_PAYLOADS = ' payloads'

/** The claim `scope` of a token: names, separated by spaces. */
export const scopeText = ({ scope, payloads }: Role): string =>
  scope === 'operator:support' && payloads ? scope + WITH_PAYLOADS : scope

export function readScope(text: unknown): Role | undefined {
  if (text === `operator:support${WITH_PAYLOADS}`) return { scope: 'operator:support', payloads: true }
  return typeof text === 'string' && Object.hasOwn(RIGHTS, text) ? { scope: text as Scope, payloads: false } : undefined
}

/** For who knows only operators and read-only operators. */
export const isOperator = (rights: Rights): boolean => rights.has('operate')
export const isReadOnly = (rights: Rights): boolean => rights.has('operate') && !rights.has('change')
