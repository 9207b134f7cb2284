import { refusal } from '#src/lib/app-error.ts'

export const operatorErrors = {
  required: refusal('OPERATOR_REQUIRED', 'forbidden'),
  support: refusal('OPERATOR_FOR_SUPPORT', 'forbidden'),
  readOnly: refusal('OPERATOR_READ_ONLY', 'forbidden'),
  feedOnly: refusal('FEED_ONLY', 'forbidden'),
  reauthentication: refusal('REAUTHENTICATION_REQUIRED', 'forbidden'),
  payloads: refusal('PAYLOADS_NOT_ALLOWED', 'forbidden'),
}
