import type { ErrorDefinition } from '#src/lib/app-error.ts'

export const purchaseErrors = {
  keyMissing: { code: 'API_KEY_MISSING', kind: 'unauthenticated', message: 'The ApiKey header is missing.' },
  keyInvalid: { code: 'API_KEY_INVALID', kind: 'unauthenticated', message: 'The API key is not valid.' },
  tokenForeign: {
    code: 'TOKEN_FOREIGN',
    kind: 'unauthenticated',
    message: 'The token belongs to another customer than the API key.',
  },
  rateLimited: {
    code: 'RATE_LIMITED',
    kind: 'throttled',
    message: 'This API key has reached its limit of deliveries a minute.',
  },
  notAuthorized: {
    code: 'PRODUCT_NOT_AUTHORIZED',
    kind: 'forbidden',
    message: 'The API key may not deliver these products.',
  },
  orderNotFound: { code: 'ORDER_NOT_FOUND', kind: 'missing', message: 'There is no such order.' },
  orderAmbiguous: {
    code: 'ORDER_AMBIGUOUS',
    kind: 'conflict',
    message: 'Several customers have an order with this id: name one of them with ?customer=, by id or e-mail address.',
  },
  deliveryNotFound: { code: 'DELIVERY_NOT_FOUND', kind: 'missing', message: 'There is no such delivery.' },
  refusalNotFound: {
    code: 'REFUSAL_NOT_FOUND',
    kind: 'missing',
    message: 'There is no such refusal, or its body was not kept.',
  },
  cursorPurged: {
    code: 'CURSOR_PURGED',
    kind: 'gone',
    message: 'Deliveries that follow this cursor were removed because of their age.',
  },
  deliveriesLost: {
    code: 'DELIVERIES_LOST',
    kind: 'gone',
    message: 'This cursor lies among deliveries that a failover or a recovery of the database lost.',
  },
  rangeInvalid: { code: 'RANGE_INVALID', kind: 'invalid', message: 'The range of time is not valid.' },
  payloadErased: { code: 'PAYLOAD_ERASED', kind: 'gone', message: 'The payload of this delivery was erased.' },
  eraseForbidden: {
    code: 'ERASE_FORBIDDEN',
    kind: 'conflict',
    message: 'The database role of this server may not erase deliveries, so nothing was changed.',
  },
  cursorInvalid: {
    code: 'CURSOR_INVALID',
    kind: 'invalid',
    message:
      'The cursor does not belong to this address with these filters, or lies in what a restored backup undid: send it unchanged with the same address and filters, or leave it out to start again.',
  },
} as const satisfies Record<string, ErrorDefinition>
