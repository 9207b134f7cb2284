import type { ErrorDefinition } from '#src/lib/app-error.ts'

export const operatorErrors = {
  required: {
    code: 'OPERATOR_REQUIRED',
    kind: 'forbidden',
    message: 'Only operators may do this: log in as an operator.',
  },
  readOnly: {
    code: 'OPERATOR_READ_ONLY',
    kind: 'forbidden',
    message: 'A read-only operator may not change anything.',
  },
} as const satisfies Record<string, ErrorDefinition>
