import type { Clock } from '#src/lib/clock.ts'
import { isMessage, type Message, textOf } from '#src/lib/messages/message.ts'
import type { AuditEvent, AuditStore } from '#src/store/store.ts'
import type { Action } from './action-names.ts'

/** Details as they are shown: texts in English, and beside them the messages that other languages are made of. */
export function shownDetails(details: AuditEvent['details']): AuditEvent['details'] {
  const messages = Object.entries(details).filter((entry): entry is [string, Message] => isMessage(entry[1]))
  if (messages.length === 0) return details
  const texts = messages.map(([name, each]) => [name, textOf(each)])
  return { ...details, ...Object.fromEntries(texts), messages: Object.fromEntries(messages) }
}

/** An event that no request caused. */
export const NO_REQUEST = { address: null, requestId: null, refusalId: null, orderId: null, keyId: null }

/** Records an administrative action in the audit log: its name (`customer.disable`), the customer and details. Never a secret. */
export type RecordAction = (
  action: Action,
  customerId: string | null,
  details?: Readonly<Record<string, unknown>>,
) => Promise<void>

/** Makes what wraps a change so that it is recorded once it is done; `about` says of which customer, and the details. */
export const recorder =
  (record: RecordAction) =>
  <Sent extends unknown[], Done>(
    action: Action,
    change: (...sent: Sent) => Promise<Done>,
    about: (
      done: Done,
      ...sent: Sent
    ) => readonly [customerId: string | null, details?: Readonly<Record<string, unknown>>],
  ) =>
  async (...sent: Sent): Promise<Done> => {
    const done = await change(...sent)
    await record(action, ...about(done, ...sent))
    return done
  }

/** Actions that are recorded before they are done, and not done if that fails. */
const WRITTEN_FIRST: readonly Action[] = ['delivery.erase', 'order.erase', 'data.export']

interface ActionDependencies {
  readonly audit: AuditStore
  readonly clock: Clock
  /** The person at the command line, `cli:` and a name, or an operator, `console:` and the e-mail address. */
  readonly actor: string
  /** The request that asked for the action. */
  readonly request?: { readonly address: string; readonly requestId: string }
  /** Called instead of throwing, except for what is written first: the action itself is done, and a password or key shown once must still be shown. */
  readonly onFailed: (action: string, error: unknown) => void
}

export const createRecordAction =
  ({ audit, clock, actor, request, onFailed }: ActionDependencies): RecordAction =>
  async (action, customerId, details = {}) => {
    const event = { at: clock.now(), actor, action, customerId, ...NO_REQUEST, ...request, details }
    await audit.append([event]).catch((error: unknown) => {
      if (WRITTEN_FIRST.includes(action)) throw error
      onFailed(action, error)
    })
  }
