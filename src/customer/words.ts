import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import { hasHidden } from '#src/lib/printable.ts'
import { customerErrors } from './customer.errors.ts'

const CONTROL = /\p{Cc}/u
const CONTROL_IN_LINES = /(?!\n)\p{Cc}/u

/** Makes a reader of what operators write about a customer. Returns it as it is stored, without space around it; empty for nothing. */
const reader =
  (maxLength: number, isWrong: (text: string) => boolean, definition: ErrorDefinition) =>
  (written: string): string => {
    const text = written.replaceAll('\r\n', '\n').trim()
    if (text.length > maxLength || !text.isWellFormed() || isWrong(text)) throw new AppError(definition)
    return text
  }

export const readName = reader(100, hasHidden, customerErrors.nameInvalid)
/** May have several lines. */
export const readNote = reader(1000, (text) => CONTROL_IN_LINES.test(text), customerErrors.noteInvalid)
/** Why a customer is disabled. */
export const readReason = reader(500, (text) => CONTROL.test(text), customerErrors.reasonInvalid)
