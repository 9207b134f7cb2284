import type { IncomingMessage } from 'node:http'
import { AppError } from '#src/lib/app-error.ts'
import { headerCount } from '#src/lib/net/header-count.ts'
import { httpErrors } from './http.errors.ts'

const ONE = 'There must be exactly one Authorization header, and it must not be empty.'

/** Returns the Authorization header. Several count as an empty one: a proxy may have judged another one than Node keeps. */
export const authorizationOf = ({
  headers: { authorization },
  rawHeaders,
}: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): string | undefined =>
  authorization !== undefined && headerCount(rawHeaders, 'authorization') > 1 ? '' : authorization

/** Reads the token of an `Authorization: Bearer` header (RFC 6750). */
export function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined) throw new AppError(httpErrors.tokenMissing)
  if (authorization === '') throw new AppError(httpErrors.notBearer, { message: ONE })
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1]
  if (token === undefined) throw new AppError(httpErrors.notBearer)
  return token
}
