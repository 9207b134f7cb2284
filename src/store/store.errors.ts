import type { ErrorDefinition } from '#src/lib/app-error.ts'

export const storeErrors = {
  unavailable: {
    code: 'STORE_UNAVAILABLE',
    kind: 'unavailable',
    message: 'The service cannot reach its storage right now. Nothing was changed; send the request again.',
  },
  cannotOpen: { code: 'STORE_CANNOT_OPEN', kind: 'unavailable', message: 'The store cannot be opened.' },
  newer: { code: 'STORE_NEWER', kind: 'unavailable', message: 'The store was made by a newer version of teslim.' },
} as const satisfies Record<string, ErrorDefinition>
