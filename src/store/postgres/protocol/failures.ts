import pg from 'pg'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { whyRefused } from './durability.ts'

/** A server that is there and must not be used; the message is for operators. */
export class Unfit extends Error {}

export const unavailable = (cause: unknown): AppError =>
  cause instanceof AppError
    ? cause
    : new AppError(storeErrors.unavailable, {
        reason: whyRefused(cause) ?? ((cause as Error).message || String(cause)),
        cause,
      })

export function cannotOpen(cause: unknown): AppError {
  if (cause instanceof Unfit) return new AppError(storeErrors.cannotOpen, { message: cause.message, cause })
  const { message, errors = [] } = cause as AggregateError
  const why = message || errors.map((error: Error) => error.message).join('; ')
  return new AppError(storeErrors.cannotOpen, { message: `The database cannot be reached: ${why}.`, cause })
}

/** Not an answer of the server, or its last one on this connection: shut down, made a standby, or its statements no longer good. */
export const isLost = (error: unknown): boolean => {
  const code = sqlState(error)
  return code === undefined || /^(?:08|57P|0A000|25006|26000)/.test(code)
}

/** Not now: resources, an operator, a timeout, a lock, the disk, settings that are not safe. */
export const isUnavailable = (error: unknown): boolean =>
  isLost(error) || /^(?:53|57|58|55P03|40001|40P01)/.test(sqlState(error) ?? '') || whyRefused(error) !== undefined

/** The server is there and has no connection left, or we have none left. */
export const isFull = (error: unknown): boolean => error instanceof Full || sqlState(error) === '53300'

export class Full extends Error {}

const sqlState = (error: unknown): string | undefined => (error instanceof pg.DatabaseError ? error.code : undefined)
