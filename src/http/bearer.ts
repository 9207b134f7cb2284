import { AppError } from '#src/lib/app-error.ts'
import { httpErrors } from './http.errors.ts'

/** Reads the token of an `Authorization: Bearer` header (RFC 6750). */
export function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined) throw new AppError(httpErrors.tokenMissing)
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1]
  if (token === undefined) throw new AppError(httpErrors.notBearer)
  return token
}
