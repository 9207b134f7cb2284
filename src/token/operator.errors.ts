import { refusal } from '#src/lib/app-error.ts'

export const operatorErrors = {
  required: refusal('OPERATOR_REQUIRED', 'forbidden'),
  readOnly: refusal('OPERATOR_READ_ONLY', 'forbidden'),
}
