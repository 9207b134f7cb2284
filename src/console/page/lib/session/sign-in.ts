import type { SignInBody } from '#src/console/session/session.schema.ts'
import { ApiError, posting, request } from '../request.ts'
import { begin, end, ended, isShared, type Me, type Session, tell } from '../session.ts'
import { settings } from '../settings.ts'
import { endQuestion } from './question.ts'

/** Ends the session in all tabs. */
export async function signOut() {
  end('left')
  if (!isShared.value) return
  tell('ended')
  await request('/console/session/end', posting({})).catch(() => {
    ended.value = 'open'
  })
}

export interface Credentials {
  readonly email: string
  readonly password: string
  readonly region?: string | undefined
}

/** Throws an ApiError. */
export async function signIn({ email, password, region }: Credentials) {
  const session = isShared.value
    ? await signInAll({ Email: email, Password: password, ...(region && { Region: region }) })
    : await signInHere({ email, password, region })
  endQuestion(true)
  begin(session)
  if (isShared.value) tell('began', session.Customer.CustomerID)
}

const signInAll = async (body: SignInBody) =>
  (await request<{ readonly Session: Session }>('/console/session', posting(body))).Session

/** Signs in this tab alone, by the login of API customers. */
async function signInHere({ email, password, region }: Credentials): Promise<Session> {
  const headers: Record<string, string> = region ? { 'h-region-code': region } : {}
  const body = { [settings.loginEmailField]: email, Password: password }
  const data = await request<Record<string, string>>('/Login/Customer/Api/Verify', posting(body, headers))
  const Token = data.Token ?? data.token ?? ''
  const Customer = await request<Me>('/Customer/Get', { headers: { authorization: `Bearer ${Token}` } })
  if (!Customer.IsOperator) throw new ApiError(403, { errorCode: 'OPERATOR_REQUIRED' })
  const TokenSeconds = lifetimeOf(Token)
  return { Token, TokenSeconds, IdleSeconds: TokenSeconds, EndSeconds: TokenSeconds, Customer }
}

/** Reads the lifetime from the token, because the clock of this machine may differ from the server's. */
function lifetimeOf(token: string): number {
  const claims = token.split('.')[1] ?? ''
  const { iat, exp } = JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/')))
  return exp - iat
}
