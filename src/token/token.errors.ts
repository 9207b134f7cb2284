import { refusal } from '#src/lib/app-error.ts'

export const tokenErrors = {
  malformed: refusal('TOKEN_MALFORMED', 'unauthenticated'),
  algorithm: refusal('TOKEN_ALGORITHM', 'unauthenticated'),
  keyUnknown: refusal('TOKEN_KEY_UNKNOWN', 'unauthenticated'),
  signature: refusal('TOKEN_SIGNATURE', 'unauthenticated'),
  issuer: refusal('TOKEN_ISSUER', 'unauthenticated'),
  audience: refusal('TOKEN_AUDIENCE', 'unauthenticated'),
  claims: refusal('TOKEN_CLAIMS', 'unauthenticated'),
  notYetValid: refusal('TOKEN_NOT_YET_VALID', 'unauthenticated'),
  expired: refusal('TOKEN_EXPIRED', 'unauthenticated'),
  revoked: refusal('TOKEN_REVOKED', 'unauthenticated'),
}
