import { accountWrites } from '../account-writes.ts'
import { auditWrites } from '../audit-writes.ts'
import type { Database } from '../database.ts'
import { deliveryWrites } from '../deliveries/writes.ts'
import { loginFailureWrites } from '../login-failure-writes.ts'
import { signingKeyWrites } from '../signing-key-writes.ts'

/** Everything that can be asked of the writer worker. */
export const writeOperations = (database: Database) => ({
  ...accountWrites(database),
  ...deliveryWrites(database),
  ...auditWrites(database),
  ...signingKeyWrites(database),
  ...loginFailureWrites(database),
  /** Writes a page and changes nothing, to see that it can be done. */
  probe: (): void => database.transaction(() => void database.run('UPDATE account_version SET number = number')),
})

export type Operations = ReturnType<typeof writeOperations>
