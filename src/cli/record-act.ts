import { createRecordAct, type RecordAct } from '#src/audit/acts.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Store } from '#src/store/store.ts'
import type { CliContext } from './command.ts'

/** Writes what a command has done into the audit log. Where it cannot, people are told, and the command goes on. */
export const recordAct = (
  store: Store,
  { clock, actor, err }: Pick<CliContext, 'clock' | 'actor' | 'err'>,
): RecordAct =>
  createRecordAct({
    audit: store.audit,
    clock,
    actor: actor(),
    onFailed: (action, error) =>
      err(`teslim: ${action} is done, but could not be written to the audit log: ${why(error)}`),
  })

const why = (error: unknown): string => {
  const reason = error instanceof AppError ? error.details.reason : undefined
  return reason ?? (error as Error).message.split('\n', 1).join()
}
