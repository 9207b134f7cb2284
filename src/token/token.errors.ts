import type { ErrorDefinition } from '#src/lib/app-error.ts'

export const tokenErrors = {
  malformed: { code: 'TOKEN_MALFORMED', kind: 'unauthenticated', message: 'The token is not a valid access token.' },
  algorithm: {
    code: 'TOKEN_ALGORITHM',
    kind: 'unauthenticated',
    message: 'The token is signed with another algorithm.',
  },
  keyUnknown: {
    code: 'TOKEN_KEY_UNKNOWN',
    kind: 'unauthenticated',
    message: 'The token is signed with an unknown key.',
  },
  signature: { code: 'TOKEN_SIGNATURE', kind: 'unauthenticated', message: 'The signature of the token is wrong.' },
  issuer: { code: 'TOKEN_ISSUER', kind: 'unauthenticated', message: 'The token was issued by another service.' },
  audience: { code: 'TOKEN_AUDIENCE', kind: 'unauthenticated', message: 'The token is meant for another service.' },
  claims: { code: 'TOKEN_CLAIMS', kind: 'unauthenticated', message: 'The token lacks a claim or has a wrong one.' },
  notYetValid: { code: 'TOKEN_NOT_YET_VALID', kind: 'unauthenticated', message: 'The token is not valid yet.' },
  expired: { code: 'TOKEN_EXPIRED', kind: 'unauthenticated', message: 'The token has expired: log in again.' },
  revoked: { code: 'TOKEN_REVOKED', kind: 'unauthenticated', message: 'The token has been revoked: log in again.' },
} as const satisfies Record<string, ErrorDefinition>
