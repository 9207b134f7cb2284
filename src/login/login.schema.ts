import { Type } from '@sinclair/typebox'
import type { Config } from '#src/config/load-config.ts'
import { DEFAULT_REGION, MAX_EMAIL_LENGTH, MAX_PASSWORD_BYTES, REGION_PATTERN } from '#src/customer/credentials.ts'
import { named, text } from '#src/lib/json/schema-parts.ts'
import { tokenExample } from '#src/token/token-example.ts'

export const LoginHeadersSchema = Type.Object({
  'h-region-code': Type.Optional(
    Type.String({
      pattern: `^(${REGION_PATTERN})?$`,
      title: 'two letters, such as TR',
      default: DEFAULT_REGION,
      description: 'The region to log in to: two letters in any case. TR if missing or empty.',
    }),
  ),
})

/**
 * Room for the longest e-mail, the longest password and 64 KiB of callbackData, with each byte escaped to six (\u0041), and for
 * names, punctuation and white space.
 */
export const MAX_BODY_BYTES = 6 * (MAX_EMAIL_LENGTH + MAX_PASSWORD_BYTES + 65_536) + 4096

export interface LoginBody {
  readonly Password: string
  readonly callbackData?: string | null
  readonly [emailField: string]: string | null | undefined
}

/** `TESLIM_LOGIN_EMAIL_FIELD` names the e-mail field. */
export const loginBodySchema = (emailField: string) =>
  Type.Unsafe<LoginBody>(
    Type.Object({
      [emailField]: Type.String({
        minLength: 1,
        description: 'E-mail address of the API customer',
        examples: ['shop@example.com'],
      }),
      Password: Type.String({
        minLength: 1,
        description: 'Password of the API customer, at most 1024 bytes',
        examples: ['correct horse battery staple'],
      }),
      callbackData: Type.Optional(
        Type.Unsafe<string | null>({
          type: ['string', 'null'],
          description: 'Free text, echoed back unchanged; null counts as not sent',
          examples: ['order-run-7'],
        }),
      ),
    }),
  )

/** By `TESLIM_LOGIN_ANSWER`. */
export const answerVariants = <Value>(token: Value, expiration: Value) => ({
  contract: { Token: token, Expiration: expiration },
  camel: { token, expiration },
  both: { Token: token, Expiration: expiration, token, expiration },
})

export function loginAnswerSchema(config: Config) {
  const token = text('Send it as Authorization: Bearer on every other request', tokenExample(config))
  const expiration = Type.String({
    pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$',
    description: 'When the token expires, in UTC',
    examples: ['2026-11-21T09:15:02Z'],
  })
  const callbackData = Type.Optional(text('The callbackData of the request; absent if none was sent', 'order-run-7'))
  return named('Login', { ...answerVariants(token, expiration)[config.loginAnswer], callbackData })
}
