import type { RecordAction } from '#src/audit/actions.ts'
import type { ApiKeys } from './api-key.rule.ts'
import type { Customers } from './customer.rule.ts'

/** Wraps the rules so that each completed change is recorded in the audit log. */
export function auditedCustomers(customers: Customers, record: RecordAction): Customers {
  return {
    ...customers,
    async add(wanted) {
      const added = await customers.add(wanted)
      const { id, isApi, operator, regions, authority } = added.customer
      await record('customer.add', id, { isApi, operator, regions, authority })
      return added
    },
    async setPassword(who, password) {
      const changed = await customers.setPassword(who, password)
      await record('customer.set-password', changed.customer.id)
      return changed
    },
    async enable(who) {
      const customer = await customers.enable(who)
      await record('customer.enable', customer.id)
      return customer
    },
    async disable(who) {
      const customer = await customers.disable(who)
      await record('customer.disable', customer.id)
      return customer
    },
    async set(who, wanted) {
      const customer = await customers.set(who, wanted)
      const { email, ...details } = wanted
      // The log must not keep an address that is to be forgotten later.
      await record('customer.set', customer.id, { ...details, ...(email !== undefined && { email: 'changed' }) })
      return customer
    },
    async remove(who, erase) {
      const customer = await customers.remove(who, erase)
      await record('customer.remove', customer.id, erase ? { erase } : {})
      return customer
    },
    async revokeTokens(who) {
      const customer = await customers.revokeTokens(who)
      await record('token.revoke', customer.id)
      return customer
    },
    async allow(who, rules) {
      const customer = await customers.allow(who, rules)
      await record('customer.allow', customer.id, { rules })
      return customer
    },
    async disallow(who, rules) {
      const customer = await customers.disallow(who, rules)
      await record('customer.disallow', customer.id, { rules })
      return customer
    },
  }
}

export function auditedApiKeys(apiKeys: ApiKeys, record: RecordAction): ApiKeys {
  return {
    ...apiKeys,
    async issue(who, label, lifetimeMilliseconds) {
      const issued = await apiKeys.issue(who, label, lifetimeMilliseconds)
      const { id, customerId, expiresAt } = issued.view
      await record('key.issue', customerId, { keyId: id, expiresAt: iso(expiresAt) })
      return issued
    },
    async rotate(id, wanted) {
      const rotated = await apiKeys.rotate(id, wanted)
      const { view, replaced } = rotated
      const details = { keyId: id, endsAt: iso(replaced.expiresAt), newKeyId: view.id, expiresAt: iso(view.expiresAt) }
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

const iso = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : new Date(milliseconds).toISOString()
