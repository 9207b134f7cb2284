import pg from 'pg'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '../store.errors.ts'

export const unavailable = (cause: unknown): AppError =>
  cause instanceof AppError
    ? cause
    : new AppError(storeErrors.unavailable, { reason: (cause as Error).message || String(cause), cause })

export function cannotOpen(cause: unknown): AppError {
  const { message, errors = [] } = cause as AggregateError
  const why = message || errors.map((error: Error) => error.message).join('; ')
  return new AppError(storeErrors.cannotOpen, { message: `The database cannot be reached: ${why}.`, cause })
}

/** Not an answer of the server, or its last one on this connection: shut down, made a standby, or its statements no longer good. */
export const isLost = (error: unknown): boolean => {
  const code = sqlState(error)
  return code === undefined || /^(?:08|57P|0A000|25006|26000)/.test(code)
}

/** Not now: resources, an operator, a timeout, a lock, the disk. */
export const isUnavailable = (error: unknown): boolean =>
  isLost(error) || /^(?:53|57|58|55P03|40001|40P01)/.test(sqlState(error) ?? '')

const sqlState = (error: unknown): string | undefined => (error instanceof pg.DatabaseError ? error.code : undefined)
