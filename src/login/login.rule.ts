import { canonicalEmail, isUsablePassword, readRegion } from '#src/customer/credentials.ts'
import { NO_PASSWORD } from '#src/customer/customer.rule.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Customer, CustomerStore } from '#src/store/store.ts'
import type { AccessTokens, CurrentCustomers, IssuedToken } from '#src/token/access-token.ts'
import type { HashQueue, Passwords } from './hashing.ts'
import { loginErrors } from './login.errors.ts'
import type { PasswordMemory } from './password-memory.ts'
import type { RefusalPace } from './refusal-pace.ts'
import type { Attempt, Throttle } from './throttle.ts'

export interface LoginDependencies {
  readonly customers: Pick<CustomerStore, 'replacePasswordHash'>
  readonly currentCustomers: Pick<CurrentCustomers, 'findByEmail'>
  readonly passwords: Passwords
  readonly accessTokens: AccessTokens
  readonly throttle: Throttle
  readonly memory: PasswordMemory
  readonly queue: HashQueue
  readonly pace: RefusalPace
  /** Called if an outdated hash could not be renewed; the login itself succeeds. */
  readonly onRehashFailed: (error: unknown) => void
}

export interface Credentials {
  readonly email: string
  readonly password: string
  /** The h-region-code header, if it was sent. */
  readonly region: string | undefined
  /** The client's address. */
  readonly address: string
  /** Whether the client is still connected. */
  readonly isAwaited: () => boolean
}

export interface LoggedIn extends IssuedToken {
  readonly customerId: string
}

export function createLogIn(dependencies: LoginDependencies) {
  const { customers, currentCustomers, passwords, accessTokens, throttle, memory, queue, pace, onRehashFailed } =
    dependencies

  const renewHash = async ({ id, passwordHash }: Customer, password: string): Promise<void> => {
    await customers.replacePasswordHash(id, passwordHash, await passwords.hash(password))
  }

  /** Counts the attempt as a failure until the hash shows otherwise. */
  const verifyHash = async (
    attempt: Attempt,
    candidate: Candidate,
    hash: string,
    password: string,
  ): Promise<boolean> => {
    await attempt.count()
    const matches = await passwords.verify(hash, password).catch(async (error: unknown) => {
      await attempt.undo()
      throw error
    })
    if (!matches || 'reason' in candidate) return false
    const { customer } = candidate
    await attempt.succeeded()
    memory.remember(customer, password)
    if (passwords.isOutdated(hash)) await renewHash(customer, password).catch(onRehashFailed)
    return true
  }

  /** Logins with the same credentials that come from one network at once are one attempt, and cost one hash. */
  const verify = async (
    attempt: Attempt,
    candidate: Candidate,
    { password, isAwaited }: Credentials,
  ): Promise<boolean> => {
    if (!('reason' in candidate) && memory.recognises(candidate.customer, password)) {
      await attempt.succeeded()
      return true
    }
    // An account that may not log in takes as long as a wrong password.
    const hash = 'reason' in candidate ? passwords.unmatched : candidate.customer.passwordHash
    const key = memory.nameOf(attempt.pair, hash, password)
    return queue.run({ key, isPreferred: attempt.isKnown, isAwaited }, () =>
      verifyHash(attempt, candidate, hash, password),
    )
  }

  const logIn = async (credentials: Credentials): Promise<LoggedIn> => {
    const { email, region, address } = credentials
    const canonical = canonicalEmail(email)
    const [attempt, candidate] = await Promise.all([
      throttle.attempt(canonical ?? email, address),
      findCandidate(currentCustomers, canonical, readRegion(region)),
    ])
    const matches = await verify(attempt, candidate, credentials)
    if ('reason' in candidate) throw refusal(candidate.reason, candidate.customer)
    if (!matches) throw refusal('wrong password', candidate.customer)
    const { customer } = candidate
    return { ...(await accessTokens.issue(customer, candidate.region)), customerId: customer.id }
  }

  return async (credentials: Credentials): Promise<LoggedIn> => {
    if (!isUsablePassword(credentials.password)) throw new AppError(loginErrors.passwordUnusable)
    try {
      return await logIn(credentials)
    } catch (error) {
      if (error instanceof AppError && COST_NO_HASH.has(error.code)) await pace.turn()
      throw error
    }
  }
}

const COST_NO_HASH: ReadonlySet<string> = new Set([loginErrors.throttled.code, loginErrors.overloaded.code])

/** The customer and region of a login, or why no password would open it. */
type Candidate =
  | { readonly customer: Customer; readonly region: string }
  | { readonly customer?: Customer; readonly reason: string }

/** Finds the account, or the reason it may not log in with any password. */
async function findCandidate(
  { findByEmail }: Pick<CurrentCustomers, 'findByEmail'>,
  email: string | undefined,
  region: string | undefined,
): Promise<Candidate> {
  const customer = email === undefined ? undefined : await findByEmail(email)
  if (customer === undefined) return { reason: 'unknown e-mail' }
  if (!customer.enabled) return { customer, reason: 'disabled' }
  if (!customer.isApi) return { customer, reason: 'not an API customer' }
  if (customer.passwordHash === NO_PASSWORD) return { customer, reason: 'no password' }
  if (region === undefined || !customer.regions.includes(region)) return { customer, reason: 'region not enabled' }
  return { customer, region }
}

const refusal = (reason: string, customer: Customer | undefined): AppError =>
  new AppError(loginErrors.refused, { reason, ...(customer && { customerId: customer.id }) })
