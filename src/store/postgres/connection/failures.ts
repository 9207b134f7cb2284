import pg from 'pg'
import { AppError, reasonOf } from '#src/lib/app-error.ts'
import { OTHER_TABLES, storeErrors } from '#src/store/store.errors.ts'
import { whyRefused } from './safety.ts'

/** The server answers but must not be used. The message is for operators. */
export class UnsafeServer extends Error {}

/** The server answers but takes no writes. */
export class ReadOnlyServer extends Error {}

export const unavailable = (cause: unknown): AppError =>
  cause instanceof AppError
    ? cause
    : new AppError(storeErrors.unavailable, {
        reason: whyRefused(cause) ?? ((cause as Error).message || String(cause)),
        cause,
      })

/** For `/readyz`: says what is missing without addresses or a driver's message, as anybody may ask. */
export function notReady(cause: unknown): AppError {
  const unsafe = whyRefused(cause) ?? (cause instanceof UnsafeServer ? cause.message : undefined)
  const message = unsafe ?? `The store cannot take anything: ${whyAway(cause)}.`
  const away = unavailable(cause)
  const reason = isOtherSchema(cause) && { reason: `${OTHER_TABLES} (${reasonOf(away)})` }
  return new AppError(storeErrors.unavailable, { ...away.details, ...reason, message })
}

function whyAway(cause: unknown): string {
  if (isFull(cause)) return 'the database has no connection left'
  const state = sqlState(cause)
  if (isReadOnly(cause)) return 'the database is read-only'
  if (isLost(cause)) return 'the database cannot be reached'
  return `${isOtherSchema(cause) ? OTHER_TABLES : 'the database does not store'} (SQLSTATE ${state})`
}

/** Whether a column, a table or a function is missing or of another type. 42501 is a right. */
const isOtherSchema = (error: unknown): boolean => /^42(?!501)/.test(sqlState(error) ?? '')

export function cannotOpen(cause: unknown): AppError {
  if (cause instanceof UnsafeServer) return new AppError(storeErrors.cannotOpen, { message: cause.message, cause })
  const { message, errors = [] } = cause as AggregateError
  const why = message || errors.map((error: Error) => error.message).join('; ')
  // What Node advises is no use to an executable, and would trust every authority of the machine.
  const said = why.replace(/; if the root CA is .*/, ': name that of its authority in DATABASE_URL, sslrootcert=FILE')
  return new AppError(storeErrors.cannotOpen, { message: `The database cannot be reached: ${said}.`, cause })
}

/** Whether the connection must be discarded: no answer came, or the server was shut down, became a standby or lost its statements. */
export const isLost = (error: unknown): boolean => {
  const code = sqlState(error)
  return code === undefined || /^(?:08|57P|0A000|25006|26000)/.test(code)
}

/** Whether a later try may succeed: resources, an operator, a timeout, a lock, the disk, unsafe settings. */
export const isUnavailable = (error: unknown): boolean =>
  isLost(error) || /^(?:53|57|58|55P03|40001|40P01)/.test(sqlState(error) ?? '') || whyRefused(error) !== undefined

export const isReadOnly = (error: unknown): boolean => error instanceof ReadOnlyServer || sqlState(error) === '25006'

/** Whether there is no such function, or none for this role or this kind of server. */
export const isNoFunction = (error: unknown): boolean => /^(?:42501|42883|0A000|55000)$/.test(sqlState(error) ?? '')

/** Whether the server, or this process, has no connection left. */
export const isFull = (error: unknown): boolean => error instanceof Full || sqlState(error) === '53300'

export class Full extends Error {}

const sqlState = (error: unknown): string | undefined => (error instanceof pg.DatabaseError ? error.code : undefined)
