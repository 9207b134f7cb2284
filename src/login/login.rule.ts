import { NO_PASSWORD } from '#src/customer/customer.rule.ts'
import { canonicalEmail } from '#src/customer/email.ts'
import { isUsablePassword } from '#src/customer/password-policy.ts'
import { readRegion } from '#src/customer/region.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Customer, CustomerStore } from '#src/store/store.ts'
import type { AccessTokens, IssuedToken } from '#src/token/access-token.ts'
import type { HashGate } from './hash-gate.ts'
import { loginErrors } from './login.errors.ts'
import type { FindCustomer } from './login-customers.ts'
import type { PasswordMemory } from './password-memory.ts'
import type { RefusalPace } from './refusal-pace.ts'
import { type Attempt, hashTaskOf, type Throttle } from './throttle.ts'

export interface Passwords {
  hash(password: string): Promise<string>
  verify(passwordHash: string, password: string): Promise<boolean>
  isOutdated(passwordHash: string): boolean
  /** A hash with the current parameters that matches no known password. */
  readonly unmatched: string
}

export interface LoginDependencies {
  readonly customers: Pick<CustomerStore, 'replacePasswordHash'>
  readonly findCustomer: FindCustomer
  readonly passwords: Passwords
  readonly accessTokens: AccessTokens
  readonly throttle: Throttle
  readonly memory: PasswordMemory
  readonly gate: HashGate
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
  const { customers, findCustomer, passwords, accessTokens, throttle, memory, gate, pace, onRehashFailed } =
    dependencies

  const renewHash = async ({ id, passwordHash }: Customer, password: string): Promise<void> => {
    await customers.replacePasswordHash(id, passwordHash, await passwords.hash(password))
  }

  const isRecognised = (candidate: Candidate, password: string): candidate is OpenCandidate =>
    !('obstacle' in candidate) && memory.recognises(candidate.customer, password)

  const admit = async ({ customer, region }: OpenCandidate): Promise<LoggedIn> => ({
    ...(await accessTokens.issue(customer, region)),
    customerId: customer.id,
  })

  /** Counts the attempt as a failure until the hash shows otherwise. */
  const verifyCounted = async (attempt: Attempt, candidate: Candidate, password: string): Promise<LoggedIn> => {
    const counted = await throttle.count(attempt)
    // An account that may not log in takes as long as a wrong password.
    const hash = 'obstacle' in candidate ? passwords.unmatched : candidate.customer.passwordHash
    const matches = await passwords.verify(hash, password).catch(async (error: unknown) => {
      await throttle.takeBack(counted)
      throw error
    })
    if ('obstacle' in candidate) throw refusal(candidate.obstacle, candidate.customer)
    const { customer } = candidate
    if (!matches) throw refusal('wrong password', customer)
    await throttle.succeeded(counted)
    memory.remember(customer, password)
    if (passwords.isOutdated(customer.passwordHash)) await renewHash(customer, password).catch(onRehashFailed)
    return admit(candidate)
  }

  const logIn = async ({ email, password, region, address, isAwaited }: Credentials): Promise<LoggedIn> => {
    const canonical = canonicalEmail(email)
    const [{ attempt, standing }, candidate] = await Promise.all([
      throttle.begin(canonical ?? email, address),
      findCandidate(findCustomer, canonical, readRegion(region)),
    ])
    if (isRecognised(candidate, password)) {
      await throttle.succeededUncounted(attempt, standing)
      return admit(candidate)
    }
    return gate.run({ ...hashTaskOf(attempt, standing), isAwaited }, async () => {
      // Another login of the same client may have succeeded meanwhile.
      if (!isRecognised(candidate, password)) return verifyCounted(attempt, candidate, password)
      await throttle.succeededUncounted(attempt, await throttle.look(attempt))
      return admit(candidate)
    })
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

interface OpenCandidate {
  readonly customer: Customer
  readonly region: string
}

type Candidate = OpenCandidate | { readonly customer?: Customer; readonly obstacle: string }

/** Finds the account, or the reason it may not log in with any password. */
async function findCandidate(
  findCustomer: FindCustomer,
  email: string | undefined,
  region: string | undefined,
): Promise<Candidate> {
  const customer = email === undefined ? undefined : await findCustomer(email)
  if (customer === undefined) return { obstacle: 'unknown e-mail' }
  if (!customer.enabled) return { customer, obstacle: 'disabled' }
  if (!customer.isApi) return { customer, obstacle: 'not an API customer' }
  if (customer.passwordHash === NO_PASSWORD) return { customer, obstacle: 'no password' }
  if (region === undefined || !customer.regions.includes(region)) return { customer, obstacle: 'region not enabled' }
  return { customer, region }
}

const refusal = (reason: string, customer: Customer | undefined): AppError =>
  new AppError(loginErrors.refused, { reason, ...(customer && { customerId: customer.id }) })
