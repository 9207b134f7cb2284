import { AppError, reasonOf } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { isMessage, type Message, message, textOf } from '#src/lib/messages/message.ts'
import { storeErrors } from '#src/store/store.errors.ts'
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
export interface RecordAction {
  (action: Action, customerId: string | null, details?: Readonly<Record<string, unknown>>): Promise<void>
  /** Rejects if it could not be recorded. */
  prove(action: Action): Promise<void>
}

/** Whoever has leaked a key, or should not be let in, is shut out even if nothing can be recorded. */
const TAKES_AWAY: readonly Action[] = [
  'customer.disable',
  'customer.disallow',
  'customer.remove',
  'key.revoke',
  'token.revoke',
  'webhook.pause',
  'webhook.remove',
]

/** Makes what wraps a change so that it is recorded once it is done, and not done if it could not be; `about` says of which customer, and the details. */
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
    if (!TAKES_AWAY.includes(action)) await record.prove(action)
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
  /** Called when the action is done and not recorded. May throw; a command goes on, as a password or key that is shown once must still be shown. */
  readonly onFailed: (action: string, error: unknown) => void
}

export function createRecordAction({ audit, clock, actor, request, onFailed }: ActionDependencies): RecordAction {
  const eventOf = (action: Action, customerId: string | null, details: AuditEvent['details']): AuditEvent => ({
    at: clock.now(),
    actor,
    action,
    customerId,
    ...NO_REQUEST,
    ...request,
    details,
  })
  const record = async (action: Action, customerId: string | null, details = {}): Promise<void> => {
    await audit.append([eventOf(action, customerId, details)]).catch((error: unknown) => {
      if (WRITTEN_FIRST.includes(action)) throw nothingDone(error)
      onFailed(action, error)
    })
  }
  const prove = async (action: Action): Promise<void> => {
    await audit.prove([eventOf(action, null, {})]).catch((error: unknown) => {
      throw nothingDone(error)
    })
  }
  return Object.assign(record, { prove })
}

/** The first line of why something could not be written to the audit log: others are for developers. */
export const whyNotRecorded = (error: unknown): string => reasonOf(error).split('\n', 1).join()

const nothingDone = (cause: unknown): AppError =>
  new AppError(storeErrors.unavailable, {
    message: message('ACTION_NOT_DONE'),
    reason: `nothing was done, as it could not be written to the audit log: ${whyNotRecorded(cause)}`,
    cause,
  })
