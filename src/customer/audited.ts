import type { Action } from '#src/audit/action-names.ts'
import type { RecordAction } from '#src/audit/actions.ts'
import { isoOrNull } from '#src/lib/clock.ts'
import { durationText } from '#src/lib/duration.ts'
import type { ApiKeys } from './api-key.rule.ts'
import type { Customers, CustomerView } from './customer.rule.ts'

/** Wraps the rules so that each completed change is recorded in the audit log. */
export function auditedCustomers(customers: Customers, record: RecordAction): Customers {
  const recorded =
    <More extends unknown[]>(
      action: Action,
      change: (who: string, ...more: More) => Promise<CustomerView>,
      detailsOf: (...more: More) => Readonly<Record<string, unknown>> = () => ({}),
    ) =>
    async (who: string, ...more: More): Promise<CustomerView> => {
      const customer = await change(who, ...more)
      await record(action, customer.id, detailsOf(...more))
      return customer
    }

  return {
    ...customers,
    async add(wanted) {
      const added = await customers.add(wanted)
      const { id, isApi, scope, payloads, regions, authority } = added.customer
      await record('customer.add', id, { isApi, scope, ...(payloads && { payloads }), regions, authority })
      return added
    },
    async setPassword(who, password) {
      const changed = await customers.setPassword(who, password)
      await record('customer.set-password', changed.customer.id)
      return changed
    },
    enable: recorded('customer.enable', customers.enable),
    disable: recorded('customer.disable', customers.disable, (disabledReason) => withoutTexts({ disabledReason })),
    set: recorded('customer.set', customers.set, ({ email, name, note, silence, ...details }) => ({
      ...details,
      ...(silence !== undefined && {
        silence: silence === null ? 'default' : silence === 0 ? 'off' : durationText(silence),
      }),
      ...withoutTexts({ email, name, note }),
    })),
    remove: recorded('customer.remove', customers.remove, (erase) => (erase ? { erase } : {})),
    revokeTokens: recorded('token.revoke', customers.revokeTokens),
    allow: recorded('customer.allow', customers.allow, (rules) => ({ rules })),
    disallow: recorded('customer.disallow', customers.disallow, (rules) => ({ rules })),
  }
}

export function auditedApiKeys(apiKeys: ApiKeys, record: RecordAction): ApiKeys {
  return {
    ...apiKeys,
    async issue(who, label, lifetimeMilliseconds, limits) {
      const issued = await apiKeys.issue(who, label, lifetimeMilliseconds, limits)
      const { id, customerId, expiresAt, networks, rateLimit } = issued.view
      const limited = { ...(networks && { networks }), ...(rateLimit !== null && { rateLimit }) }
      await record('key.issue', customerId, { keyId: id, expiresAt: isoOrNull(expiresAt), ...limited })
      return issued
    },
    async set(id, wanted) {
      const changed = await apiKeys.set(id, wanted)
      const { customerId, expiresAt, networks, rateLimit } = changed
      await record('key.set', customerId, {
        keyId: id,
        ...withoutTexts({ label: wanted.label }),
        ...(wanted.lifetimeMilliseconds !== undefined && { expiresAt: isoOrNull(expiresAt) }),
        ...(wanted.networks !== undefined && { networks: networks ?? 'anywhere' }),
        ...(wanted.rateLimit !== undefined && { rateLimit }),
      })
      return changed
    },
    async rotate(id, wanted) {
      const rotated = await apiKeys.rotate(id, wanted)
      const { view, replaced } = rotated
      const details = {
        keyId: id,
        endsAt: isoOrNull(replaced.expiresAt),
        newKeyId: view.id,
        expiresAt: isoOrNull(view.expiresAt),
      }
      await record('key.rotate', view.customerId, details)
      return rotated
    },
    async revoke(id) {
      const revoked = await apiKeys.revoke(id)
      await record('key.revoke', revoked.customerId, { keyId: id })
      return revoked
    },
  }
}

/** Says what changed. The log must not keep texts that are to be forgotten later. */
const withoutTexts = (texts: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(texts)
      .filter(([, text]) => text !== undefined)
      .map(([name]) => [name, 'changed']),
  )
