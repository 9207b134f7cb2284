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

export interface Request {
  readonly id: number
  readonly name: keyof Operations | 'close'
  readonly args: readonly unknown[]
}

export interface Reply {
  readonly id: number
  readonly result?: unknown
  readonly error?: {
    /** The disk, a lock, a permission: not a defect. */
    readonly unavailable: boolean
    readonly message: string
  }
}
