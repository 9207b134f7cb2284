import type { Random } from '#src/lib/random.ts'
import type { ApiKeys } from './api-key.rule.ts'
import { DEFAULT_REGION, generatePassword } from './credentials.ts'
import type { Customers } from './customer.rule.ts'

export interface Sandbox {
  readonly email: string
  readonly password: string
  readonly apiKey: string
}

export const SANDBOX_EMAIL = 'sandbox@example.com'

/** Adds a customer for trying the service. The caller must not do this in production. */
export async function addSandbox(customers: Customers, apiKeys: ApiKeys, random: Random): Promise<Sandbox> {
  const [email, password] = [SANDBOX_EMAIL, generatePassword(random)]
  await customers.add({ email, password, isApi: true, regions: [DEFAULT_REGION], authority: ['*'] })
  const { key } = await apiKeys.issue(email, 'sandbox')
  return { email, password, apiKey: key }
}
