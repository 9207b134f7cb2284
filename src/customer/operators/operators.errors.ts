import { refusal } from '#src/lib/app-error.ts'

export const operatorsErrors = {
  self: refusal('OPERATOR_SELF', 'conflict'),
}
