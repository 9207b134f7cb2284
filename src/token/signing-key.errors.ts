import type { ErrorDefinition } from '#src/lib/app-error.ts'

export const signingKeyErrors = {
  /** The reason is for operators only. */
  cannotOpen: { code: 'SIGNING_KEY_CANNOT_OPEN', kind: 'unavailable', message: 'The signing keys cannot be used.' },
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
      'Other processes kept changing the signing keys at the same time. Nothing was done; run the command again.',
  },
} as const satisfies Record<string, ErrorDefinition>
