import type { Database } from '../database.ts'
import { deliveryReads } from '../deliveries/reads.ts'

/** Everything that can be asked of the reader worker. */
export const readOperations = (database: Database) => deliveryReads(database)

export type ReadOperations = ReturnType<typeof readOperations>
