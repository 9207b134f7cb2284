import type { ErrorDefinition } from '#src/lib/app-error.ts'

export const operatorsErrors = {
  self: {
    code: 'OPERATOR_SELF',
    kind: 'conflict',
    message:
      'Operators cannot disable themselves or revoke their own tokens here: ask another operator, or use the command line.',
  },
} as const satisfies Record<string, ErrorDefinition>
