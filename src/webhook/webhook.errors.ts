import { refusal } from '#src/lib/app-error.ts'

export const webhookErrors = {
  urlInvalid: refusal('WEBHOOK_URL_INVALID', 'invalid'),
  addressForbidden: refusal('WEBHOOK_ADDRESS_FORBIDDEN', 'invalid'),
  notFound: refusal('WEBHOOK_NOT_FOUND', 'missing'),
  tooMany: refusal('WEBHOOK_TOO_MANY', 'conflict'),
  authorityInvalid: refusal('WEBHOOK_CA_INVALID', 'invalid'),
  headerInvalid: refusal('WEBHOOK_HEADER_INVALID', 'invalid'),
  leftOut: refusal('WEBHOOK_DELIVERY_LEFT_OUT', 'conflict'),
  pending: refusal('WEBHOOK_DELIVERY_PENDING', 'conflict'),
  replayRunning: refusal('WEBHOOK_REPLAY_RUNNING', 'conflict'),
  changedMeanwhile: refusal('WEBHOOK_CHANGED', 'conflict'),
  /** The reason is for operators only. */
  secretCannotOpen: refusal('WEBHOOK_SECRET_CANNOT_OPEN', 'unavailable'),
}
