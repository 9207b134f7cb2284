import { accountWrites } from './account-writes.ts'
import { auditWrites } from './audit-writes.ts'
import type { Database } from './database.ts'
import { deliveryWrites } from './delivery-writes.ts'
import { loginFailureWrites } from './login-failure-writes.ts'
import { signingKeyWrites } from './signing-key-writes.ts'

/** Everything that can be asked of the writer worker. */
export const writeOperations = (database: Database) => ({
  ...accountWrites(database),
  ...deliveryWrites(database),
  ...auditWrites(database),
  ...signingKeyWrites(database),
  ...loginFailureWrites(database),
})

export type Operations = ReturnType<typeof writeOperations>
