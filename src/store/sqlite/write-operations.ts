import { accountWrites } from './account-writes.ts'
import { auditWrites } from './audit-writes.ts'
import type { Database } from './database.ts'
import { deliveryWrites } from './delivery-writes.ts'

/** Everything that can be asked of the writer worker. */
export const writeOperations = (database: Database) => ({
  ...accountWrites(database),
  ...deliveryWrites(database),
  ...auditWrites(database),
})

export type Operations = ReturnType<typeof writeOperations>
