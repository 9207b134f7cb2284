import type { ErrorDefinition } from '#src/lib/app-error.ts'

export const signingKeyErrors = {
  /** Why goes into the reason, for operators. */
  cannotOpen: {
    code: 'SIGNING_KEY_CANNOT_OPEN',
    kind: 'unavailable',
    message: 'The signing keys cannot be used.',
  },
  secretMissing: {
    code: 'SECRET_MISSING',
    kind: 'invalid',
    message:
      'There is nothing to encrypt with: set TESLIM_SECRET to at least 16 characters, or TESLIM_SECRET_FILE to a file that holds them.',
  },
  changedMeanwhile: {
    code: 'SIGNING_KEY_CHANGED',
    kind: 'conflict',
    message:
      'The signing keys were changed by others at the same time, again and again: nothing was done; run it again.',
  },
} as const satisfies Record<string, ErrorDefinition>
