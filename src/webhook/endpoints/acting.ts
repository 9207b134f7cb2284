import { createRecordAction } from '#src/audit/actions.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { AuditStore, Customer } from '#src/store/store.ts'
import { auditedEndpoints } from './audited.ts'
import type { Endpoints } from './endpoints.rule.ts'

export interface ActingDependencies {
  readonly endpoints: Endpoints
  readonly audit: AuditStore
  readonly clock: Clock
  /** Called if an action is done, but could not be written to the audit log. */
  readonly onUnrecorded: (action: string, requestId: string, error: unknown) => void
}

/** The operator that acts, and the request by which. */
export interface Acting {
  readonly operator: Pick<Customer, 'email'>
  readonly address: string
  readonly requestId: string
}

/** What operators change over HTTP. The audit log says who did it, from where, and with which request. */
export const createActing =
  ({ endpoints, audit, clock, onUnrecorded }: ActingDependencies) =>
  ({ operator, address, requestId }: Acting): Endpoints =>
    auditedEndpoints(
      endpoints,
      createRecordAction({
        audit,
        clock,
        actor: `console:${operator.email}`,
        request: { address, requestId },
        onFailed: (action, error) => onUnrecorded(action, requestId, error),
      }),
    )
