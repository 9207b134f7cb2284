import { AppError } from '../app-error.ts'

/** Says why a server cannot listen. `setting` names another port. */
export function cannotListen(error: unknown, address: string, setting: string): AppError {
  const { code, message } = error as NodeJS.ErrnoException
  const why = code === 'EADDRINUSE' ? `the port is in use; set ${setting} to another one` : message
  return new AppError(
    { code: 'CANNOT_LISTEN', kind: 'unavailable', message: `cannot listen on ${address}: ${why}` },
    { cause: error },
  )
}
