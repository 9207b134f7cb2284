import { refusal } from '#src/lib/app-error.ts'

export const loginErrors = {
  /** A 400 by the original contract. */
  refused: { ...refusal('LOGIN_REFUSED', 'invalid'), class: 'credentials' as const },
  passwordUnusable: refusal('PASSWORD_UNUSABLE', 'invalid', 'LOGIN_PASSWORD_UNUSABLE'),
  throttled: refusal('LOGIN_THROTTLED', 'throttled'),
  overloaded: refusal('LOGIN_OVERLOADED', 'overloaded'),
  authorizationSent: refusal('AUTHORIZATION_NOT_ALLOWED', 'invalid'),
}

/** Never sent: the client has disconnected. Not counted as overload. */
export const clientGone = refusal('CLIENT_GONE', 'unavailable')
