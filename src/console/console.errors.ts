import type { ErrorDefinition } from '#src/lib/app-error.ts'

export const consoleErrors = {
  full: {
    code: 'CONSOLES_FULL',
    kind: 'unavailable',
    message: 'As many live views are open as this process serves. Close one, or try again later.',
  },
} as const satisfies Record<string, ErrorDefinition>
