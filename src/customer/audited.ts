import { type RecordAction, recorder } from '#src/audit/actions.ts'
import { isoOrNull } from '#src/lib/clock.ts'
import { durationText } from '#src/lib/duration.ts'
import type { ApiKeys } from './api-key.rule.ts'
import type { Customers } from './customer.rule.ts'

/** Wraps the rules so that each completed change is recorded in the audit log. */
export function auditedCustomers(customers: Customers, record: RecordAction): Customers {
  const recorded = recorder(record)
  return {
    ...customers,
    add: recorded('customer.add', customers.add, ({ customer }) => {
      const { id, isApi, scope, payloads, regions, authority } = customer
      return [id, { isApi, scope, ...(payloads && { payloads }), regions, authority }]
    }),
    setPassword: recorded('customer.set-password', customers.setPassword, ({ customer }) => [customer.id]),
    enable: recorded('customer.enable', customers.enable, ({ id }) => [id]),
    disable: recorded('customer.disable', customers.disable, ({ id }, _who, disabledReason) => [
      id,
      withoutTexts({ disabledReason }),
    ]),
    set: recorded('customer.set', customers.set, ({ id }, _who, { email, name, note, silence: time, ...details }) => {
      const silence = time === null ? 'default' : time === 0 ? 'off' : time && durationText(time)
      return [id, { ...details, ...(silence && { silence }), ...withoutTexts({ email, name, note }) }]
    }),
    remove: recorded('customer.remove', customers.remove, ({ id }, _who, erase) => [id, erase ? { erase } : {}]),
    revokeTokens: recorded('token.revoke', customers.revokeTokens, ({ id }) => [id]),
    allow: recorded('customer.allow', customers.allow, ({ id }, _who, rules) => [id, { rules }]),
    disallow: recorded('customer.disallow', customers.disallow, ({ id }, _who, rules) => [id, { rules }]),
  }
}

export function auditedApiKeys(apiKeys: ApiKeys, record: RecordAction): ApiKeys {
  const recorded = recorder(record)
  return {
    ...apiKeys,
    issue: recorded('key.issue', apiKeys.issue, ({ view: { id, customerId, expiresAt, networks, rateLimit } }) => {
      const limited = { ...(networks && { networks }), ...(rateLimit !== null && { rateLimit }) }
      return [customerId, { keyId: id, expiresAt: isoOrNull(expiresAt), ...limited }]
    }),
    set: recorded('key.set', apiKeys.set, ({ customerId, expiresAt, networks, rateLimit }, keyId, wanted) => {
      const details = {
        keyId,
        ...withoutTexts({ label: wanted.label }),
        ...(wanted.lifetimeMilliseconds !== undefined && { expiresAt: isoOrNull(expiresAt) }),
        ...(wanted.networks !== undefined && { networks: networks ?? 'anywhere' }),
        ...(wanted.rateLimit !== undefined && { rateLimit }),
      }
      return [customerId, details]
    }),
    rotate: recorded('key.rotate', apiKeys.rotate, ({ view, replaced }, keyId) => {
      const ends = { endsAt: isoOrNull(replaced.expiresAt), newKeyId: view.id, expiresAt: isoOrNull(view.expiresAt) }
      return [view.customerId, { keyId, ...ends }]
    }),
    revoke: recorded('key.revoke', apiKeys.revoke, ({ customerId }, keyId) => [customerId, { keyId }]),
  }
}

/** Says what changed. The log must not keep texts that are to be forgotten later. */
const withoutTexts = (texts: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(texts)
      .filter(([, text]) => text !== undefined)
      .map(([name]) => [name, 'changed']),
  )
