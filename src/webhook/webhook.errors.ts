import type { ErrorDefinition } from '#src/lib/app-error.ts'

export const webhookErrors = {
  urlInvalid: {
    code: 'WEBHOOK_URL_INVALID',
    kind: 'invalid',
    message: 'The URL of a webhook is https://HOST/PATH, without a user name and without a fragment.',
  },
  addressForbidden: {
    code: 'WEBHOOK_ADDRESS_FORBIDDEN',
    kind: 'invalid',
    message: 'Webhooks are sent to public addresses, and to those that TESLIM_WEBHOOK_ALLOW names.',
  },
  notFound: { code: 'WEBHOOK_NOT_FOUND', kind: 'missing', message: 'There is no such endpoint.' },
  tooMany: {
    code: 'WEBHOOK_TOO_MANY',
    kind: 'conflict',
    message: 'There are 1,000 endpoints already: remove one that is no longer needed.',
  },
  authorityInvalid: {
    code: 'WEBHOOK_CA_INVALID',
    kind: 'invalid',
    message: 'The certificate authority must be certificates in PEM, at most 64 KiB.',
  },
  headerInvalid: {
    code: 'WEBHOOK_HEADER_INVALID',
    kind: 'invalid',
    message: 'A header of the endpoint is not valid, or cannot be set.',
  },
  leftOut: {
    code: 'WEBHOOK_DELIVERY_LEFT_OUT',
    kind: 'conflict',
    message: 'The endpoint does not get deliveries with this Status, or does not get duplicates.',
  },
  pending: {
    code: 'WEBHOOK_DELIVERY_PENDING',
    kind: 'conflict',
    message: 'The delivery is still to be sent, or is being sent now: it needs no replay.',
  },
  replayRunning: {
    code: 'WEBHOOK_REPLAY_RUNNING',
    kind: 'conflict',
    message: 'A replay of this endpoint is under way: wait for its end, or cancel it.',
  },
  changedMeanwhile: {
    code: 'WEBHOOK_CHANGED',
    kind: 'conflict',
    message: 'Others kept changing the endpoint at the same time: try again.',
  },
  /** The reason is for operators only. */
  secretCannotOpen: {
    code: 'WEBHOOK_SECRET_CANNOT_OPEN',
    kind: 'unavailable',
    message: 'The secret of an endpoint cannot be opened: "teslim doctor" says why.',
  },
} as const satisfies Record<string, ErrorDefinition>
