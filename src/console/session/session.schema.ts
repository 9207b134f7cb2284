import { type Static, Type } from '@sinclair/typebox'
import { MAX_EMAIL_LENGTH, MAX_PASSWORD_BYTES } from '#src/customer/credentials.ts'
import { CustomerSchema } from '#src/customer/customer.schema.ts'
import { meAnswer } from '#src/customer/me.ts'
import { closed } from '#src/lib/json/schema-parts.ts'
import type { ConsoleSession } from '#src/store/store.ts'

export const SignInBodySchema = closed({
  Email: Type.String({ minLength: 1 }),
  Password: Type.String({ minLength: 1 }),
  Region: Type.Optional(Type.String()),
})

export const TokenBodySchema = closed({
  Active: Type.Boolean({ description: 'Whether somebody has pressed a key or a button since the last time' }),
})

export const NoBodySchema = closed({})

/** Room for e-mail and password with each byte escaped to six (\u0041), and for names and punctuation. */
export const MAX_BODY_BYTES = 6 * (MAX_EMAIL_LENGTH + MAX_PASSWORD_BYTES) + 1024

/** Seconds from now on, as the clock of a browser may differ from that of the server. */
export const SessionSchema = Type.Object({
  Token: Type.String({ description: 'Send it as Authorization: Bearer' }),
  TokenSeconds: Type.Integer({ description: 'How long the token works' }),
  IdleSeconds: Type.Integer({ description: 'When the session ends if nobody does anything' }),
  EndSeconds: Type.Integer({ description: 'When it ends in any case' }),
  Customer: CustomerSchema,
})

export const SessionAnswerSchema = Type.Object({
  Possible: Type.Boolean({ description: 'false where there is no TLS, so that a cookie could be read on the way' }),
  Session: Type.Union([SessionSchema, Type.Null()]),
})

export type SignInBody = Static<typeof SignInBodySchema>
export type SessionAnswer = Static<typeof SessionAnswerSchema>

interface Issued {
  readonly token: string
  readonly expiresAt: number
  readonly access: Parameters<typeof meAnswer>[0]
}

export function sessionAnswer(
  session: ConsoleSession,
  { token, expiresAt, access }: Issued,
  now: number,
): SessionAnswer {
  const secondsUntil = (time: number): number => Math.floor((time - now) / 1000)
  return {
    Possible: true,
    Session: {
      Token: token,
      TokenSeconds: secondsUntil(expiresAt * 1000),
      IdleSeconds: secondsUntil(session.idleUntil),
      EndSeconds: secondsUntil(session.endsAt),
      Customer: meAnswer(access),
    },
  }
}

export const noSession = (isPossible: boolean): SessionAnswer => ({ Possible: isPossible, Session: null })
