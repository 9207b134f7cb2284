import { canonicalEmail } from '#src/customer/email.ts'
import { isUsablePassword } from '#src/customer/password-policy.ts'
import { readRegion } from '#src/customer/region.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Customer, CustomerStore } from '#src/store/store.ts'
import type { AccessTokens, IssuedToken } from '#src/token/access-token.ts'
import { loginErrors } from './login.errors.ts'

export interface Passwords {
  hash(password: string): Promise<string>
  verify(passwordHash: string, password: string): Promise<boolean>
  isOutdated(passwordHash: string): boolean
  /** A hash of today's parameters that no password is known to match. */
  readonly unmatched: string
}

export interface LoginDependencies {
  readonly customers: CustomerStore
  readonly passwords: Passwords
  readonly accessTokens: AccessTokens
  /** Told when an outdated hash could not be renewed; the login itself succeeds. */
  readonly onRehashFailed: (error: unknown) => void
}

export interface Credentials {
  readonly email: string
  readonly password: string
  /** As it was sent, if it was. */
  readonly region: string | undefined
}

export interface LoggedIn extends IssuedToken {
  readonly customerId: string
}

export function createLogIn({ customers, passwords, accessTokens, onRehashFailed }: LoginDependencies) {
  const renewHash = async ({ id, passwordHash }: Customer, password: string): Promise<void> => {
    await customers.replacePasswordHash(id, passwordHash, await passwords.hash(password))
  }

  return async ({ email, password, region }: Credentials): Promise<LoggedIn> => {
    if (!isUsablePassword(password)) throw new AppError(loginErrors.passwordUnusable)
    const candidate = await findCandidate(customers, email, readRegion(region))
    // An account that may not log in takes the time of a wrong password all the same.
    const hash = 'obstacle' in candidate ? passwords.unmatched : candidate.customer.passwordHash
    const matches = await passwords.verify(hash, password)
    if ('obstacle' in candidate) throw refusal(candidate.obstacle, candidate.customer)
    if (!matches) throw refusal('wrong password', candidate.customer)
    const { customer } = candidate
    if (passwords.isOutdated(customer.passwordHash)) await renewHash(customer, password).catch(onRehashFailed)
    return { ...(await accessTokens.issue(customer, candidate.region)), customerId: customer.id }
  }
}

type Candidate =
  | { readonly customer: Customer; readonly region: string }
  | { readonly customer?: Customer; readonly obstacle: string }

/** The account, or what keeps it from logging in whatever the password. */
async function findCandidate(customers: CustomerStore, text: string, region: string | undefined): Promise<Candidate> {
  const email = canonicalEmail(text)
  const customer = email === undefined ? undefined : await customers.findByEmail(email)
  if (customer === undefined) return { obstacle: 'unknown e-mail' }
  if (!customer.enabled) return { customer, obstacle: 'disabled' }
  if (!customer.isApi) return { customer, obstacle: 'not an API customer' }
  if (region === undefined || !customer.regions.includes(region)) return { customer, obstacle: 'region not enabled' }
  return { customer, region }
}

const refusal = (reason: string, customer: Customer | undefined): AppError =>
  new AppError(loginErrors.refused, { reason, ...(customer && { customerId: customer.id }) })
