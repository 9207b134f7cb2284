import type { ErrorDefinition } from '#src/lib/app-error.ts'

export const loginErrors = {
  refused: {
    code: 'LOGIN_REFUSED',
    kind: 'invalid',
    message: 'The e-mail address, the password or the region is not valid for API access.',
  },
  passwordUnusable: {
    code: 'PASSWORD_UNUSABLE',
    kind: 'invalid',
    message: 'Password must be at most 1024 bytes of valid Unicode.',
  },
  throttled: { code: 'LOGIN_THROTTLED', kind: 'throttled', message: 'Too many failed logins: try again later.' },
  overloaded: {
    code: 'LOGIN_OVERLOADED',
    kind: 'overloaded',
    message: 'Too many logins are waiting to be checked: try again in a moment.',
  },
  authorizationSent: {
    code: 'AUTHORIZATION_NOT_ALLOWED',
    kind: 'invalid',
    message: 'This endpoint is anonymous: drop the Authorization header and send the request again.',
  },
} as const satisfies Record<string, ErrorDefinition>

/** Never sent: the client has disconnected. Not counted as overload. */
export const clientGone: ErrorDefinition = {
  code: 'CLIENT_GONE',
  kind: 'unavailable',
  message: 'The client disconnected before its password was checked.',
}
