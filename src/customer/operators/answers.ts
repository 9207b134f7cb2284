import { isoMilliseconds, isoOrNull } from '#src/lib/clock.ts'
import type { ApiKeyView } from '../api-key.rule.ts'
import { isRemoved } from '../customer.rule.ts'
import { keyAnswer } from '../key-answer.ts'
import { isOperator, isReadOnly, rightsOf } from '../rights.ts'
import type { Described } from './directory.rule.ts'

/** A customer as operators see it. */
export const customerAnswer = ({ customer, keys, lastUsedAt, silentSince, warnings }: Described) => ({
  CustomerID: customer.id,
  Email: customer.email,
  Name: customer.name,
  Note: customer.note,
  IsAPI: customer.isApi,
  Scope: customer.scope,
  SeesPayloads: rightsOf(customer).has('payloads'),
  IsOperator: isOperator(rightsOf(customer)),
  IsReadOnly: isReadOnly(rightsOf(customer)),
  IsEnabled: customer.enabled,
  DisabledReason: customer.disabledReason,
  IsRemoved: isRemoved(customer),
  Regions: [...customer.regions],
  AuthorityRules: [...customer.authority],
  CreatedAt: isoMilliseconds(customer.createdAt),
  Keys: { Live: keys.live, ExpiringSoon: keys.expiring },
  LastUsedAt: isoOrNull(lastUsedAt),
  SilenceSeconds: customer.silence === null ? null : customer.silence / 1000,
  SilentSince: isoOrNull(silentSince),
  Warnings: [...warnings],
})

/** A key as operators see it. */
export const operatorKeyAnswer = (key: ApiKeyView, usualRate: number) => ({
  ...keyAnswer(key, usualRate),
  CustomerID: key.customerId,
  SuccessorID: key.successorId,
  ExpiresSoon: key.expiresSoon,
})
