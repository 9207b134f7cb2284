import type { Clock } from '#src/lib/clock.ts'
import type { AuditStore } from '#src/store/store.ts'

/** Writes an administrative act down: `customer.disable`, to whom, and what else is worth knowing. Never a secret. */
export type RecordAct = (
  action: string,
  customerId: string | null,
  details?: Readonly<Record<string, unknown>>,
) => Promise<void>

export interface ActDependencies {
  readonly audit: AuditStore
  readonly clock: Clock
  /** Who acts: `cli:` and a name. */
  readonly actor: string
  /** The act itself is done and stays done; a password or a key that it shows once must still be shown. */
  readonly onFailed: (action: string, error: unknown) => void
}

export const createRecordAct =
  ({ audit, clock, actor, onFailed }: ActDependencies): RecordAct =>
  async (action, customerId, details = {}) => {
    const act = { at: clock.now(), actor, action, customerId, address: null, requestId: null, details }
    await audit.append([act]).catch((error: unknown) => onFailed(action, error))
  }
