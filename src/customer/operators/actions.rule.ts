import type { RecordAction } from '#src/audit/actions.ts'
import { AppError } from '#src/lib/app-error.ts'
import { readUuid } from '#src/lib/random.ts'
import { createApiKeys, type NewKey, type Rotation } from '../api-key.rule.ts'
import { auditedApiKeys, auditedCustomers } from '../audited.ts'
import { generatePassword } from '../credentials.ts'
import { customerErrors } from '../customer.errors.ts'
import {
  type CustomerDependencies,
  type CustomerSettings,
  createCustomers,
  type NewCustomer,
} from '../customer.rule.ts'

/** What an operator, named by its id, changes over HTTP. */
export function createActions(dependencies: CustomerDependencies) {
  const { store, clock, random } = dependencies
  const plainCustomers = createCustomers(dependencies)
  const plainKeys = createApiKeys({ store, customers: plainCustomers, clock, random })

  return (operator: string, record: RecordAction) => {
    const customers = auditedCustomers(plainCustomers, record)
    const apiKeys = auditedApiKeys(plainKeys, record)

    const refuseSelf = (id: string): string => {
      if (id === operator) throw new AppError(customerErrors.self)
      return id
    }

    return {
      /** Without a password, one is generated, and returned once. */
      async add(wanted: Omit<NewCustomer, 'password'>, password: string | undefined) {
        const generated = password === undefined ? generatePassword(random) : null
        const { customer } = await customers.add({ ...wanted, password: password ?? generated ?? '' })
        return { id: customer.id, generated }
      },
      enable: async (id: string) => customers.enable(customerId(id)),
      disable: async (id: string, reason?: string) => customers.disable(refuseSelf(customerId(id)), reason),
      set: async (id: string, wanted: Pick<CustomerSettings, 'name' | 'note' | 'silence'>) =>
        customers.set(customerId(id), wanted),
      revokeTokens: async (id: string) => customers.revokeTokens(refuseSelf(customerId(id))),
      allow: async (id: string, rules: readonly string[]) => customers.allow(customerId(id), rules),
      disallow: async (id: string, rules: readonly string[]) => customers.disallow(customerId(id), rules),
      issueKey: async (id: string, label: string, wanted: NewKey) =>
        apiKeys.issue(customerId(id), label, undefined, wanted),
      rotateKey: async (id: string, wanted: Rotation) => apiKeys.rotate(keyId(id), wanted),
      revokeKey: async (id: string) => apiKeys.revoke(keyId(id)),
    }
  }
}

/** An e-mail address would find a customer, too, but is not what the route takes. */
function customerId(text: string): string {
  const id = readUuid(text)
  if (id === undefined) throw new AppError(customerErrors.notFound)
  return id
}

function keyId(text: string): string {
  const id = readUuid(text)
  if (id === undefined) throw new AppError(customerErrors.keyNotFound)
  return id
}
