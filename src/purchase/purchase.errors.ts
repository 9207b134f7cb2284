import { refusal } from '#src/lib/app-error.ts'

export const purchaseErrors = {
  keyMissing: refusal('API_KEY_MISSING', 'unauthenticated'),
  keyInvalid: refusal('API_KEY_INVALID', 'unauthenticated'),
  tokenForeign: refusal('TOKEN_FOREIGN', 'unauthenticated'),
  rateLimited: refusal('RATE_LIMITED', 'throttled'),
  notAuthorized: refusal('PRODUCT_NOT_AUTHORIZED', 'forbidden'),
  orderNotFound: refusal('ORDER_NOT_FOUND', 'missing'),
  orderAmbiguous: refusal('ORDER_AMBIGUOUS', 'conflict'),
  deliveryNotFound: refusal('DELIVERY_NOT_FOUND', 'missing'),
  refusalNotFound: refusal('REFUSAL_NOT_FOUND', 'missing'),
  cursorPurged: refusal('CURSOR_PURGED', 'gone'),
  deliveriesLost: refusal('DELIVERIES_LOST', 'gone'),
  rangeInvalid: refusal('RANGE_INVALID', 'invalid'),
  payloadErased: refusal('PAYLOAD_ERASED', 'gone'),
  eraseForbidden: refusal('ERASE_FORBIDDEN', 'conflict'),
  cursorInvalid: refusal('CURSOR_INVALID', 'invalid'),
  followersFull: refusal('CONNECTIONS_OVERLOADED', 'unavailable', 'FOLLOWERS_FULL'),
}
