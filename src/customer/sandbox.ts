import { type Random, randomText } from '#src/lib/random.ts'
import type { Customers } from './customer.rule.ts'
import { DEFAULT_REGION } from './region.ts'

export interface Sandbox {
  readonly email: string
  readonly password: string
}

/** A customer to try the service with. The caller sees to it that none is made in production. */
export async function addSandbox(customers: Customers, random: Random): Promise<Sandbox> {
  const sandbox = { email: 'sandbox@example.com', password: randomText(24, random) }
  await customers.add({ ...sandbox, isApi: true, operator: false, regions: [DEFAULT_REGION], authority: ['*'] })
  return sandbox
}
