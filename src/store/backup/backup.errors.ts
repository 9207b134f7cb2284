import type { ErrorDefinition } from '#src/lib/app-error.ts'

export const backupErrors = {
  failed: { code: 'BACKUP_FAILED', kind: 'unavailable', message: 'The backup was not made.' },
  invalid: { code: 'BACKUP_INVALID', kind: 'unavailable', message: 'The backup cannot be restored.' },
  noRoom: { code: 'NO_ROOM', kind: 'unavailable', message: 'There is too little room on the disk.' },
} as const satisfies Record<string, ErrorDefinition>
