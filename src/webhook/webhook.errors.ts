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
} as const satisfies Record<string, ErrorDefinition>
