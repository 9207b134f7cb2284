import { AppError } from '#src/lib/app-error.ts'
import type { Scope } from '#src/store/store.ts'
import { customerErrors } from './customer.errors.ts'
import { isOperator, type Role, rightsOf } from './rights.ts'

/** A role as people say it, one part at a time. What is not given stays as it is. */
export interface RoleParts {
  readonly operator?: boolean | undefined
  readonly readOnly?: boolean | undefined
  readonly support?: boolean | undefined
  readonly payloads?: boolean | undefined
  readonly feed?: boolean | undefined
}

export const NO_ROLE: Role = { scope: 'customer', payloads: false }

/** Who becomes an operator does so with all rights, unless said otherwise, and one of another kind stays what it is. */
export function changedRole(former: Role, { operator, readOnly, support, payloads, feed }: RoleParts): Role {
  if ([readOnly, support, feed].filter(Boolean).length > 1 || (feed && operator))
    throw new AppError(customerErrors.rolesTogether)
  let { scope } = former
  const operates = (): boolean => isOperator(rightsOf({ scope, payloads: false }))
  if (feed) scope = 'feed'
  if (feed === false && scope === 'feed') scope = 'customer'
  if (operator && !operates()) scope = 'operator'
  if (operator === false && operates()) scope = 'customer'
  if (readOnly && !operates()) throw new AppError(customerErrors.readOnlyAlone)
  if (support && !operates()) throw new AppError(customerErrors.supportAlone)
  if (readOnly) scope = 'operator:read'
  if (support) scope = 'operator:support'
  const isLeft =
    (readOnly === false && scope === 'operator:read') || (support === false && scope === 'operator:support')
  if (isLeft) scope = 'operator'
  return checkedRole({ scope, payloads: payloads ?? (scope === 'operator:support' && former.payloads) })
}

/** Refuses a right to payloads that would mean nothing. */
export function checkedRole(role: Role): Role {
  if (role.payloads && role.scope !== 'operator:support') throw new AppError(customerErrors.payloadsAlone)
  return role
}

/** A role as people read it. */
const ROLE_WORDS: Readonly<Record<Scope, string>> = {
  customer: 'customer',
  feed: 'feed only',
  'operator:support': 'support',
  'operator:read': 'read-only operator',
  operator: 'operator',
}

export const roleWords = ({ scope, payloads }: Role): string =>
  `${ROLE_WORDS[scope]}${payloads ? ' with payloads' : ''}`
