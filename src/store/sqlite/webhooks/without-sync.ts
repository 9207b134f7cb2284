import type { Database } from '../database.ts'

/**
 * Runs a transaction that a power cut may undo, without waiting for the disk. Only for progress that this machine then makes again, at
 * the cost of repeats: deliveries and what operators do must be durable.
 */
export function withoutSync<Result>(database: Database, work: () => Result): Result {
  database.script('PRAGMA synchronous = NORMAL')
  try {
    return database.transaction(work)
  } finally {
    database.script('PRAGMA synchronous = FULL')
  }
}
