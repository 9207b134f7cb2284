import { canonicalEmail, isUsablePassword, readRegion } from '#src/customer/credentials.ts'
import { NO_PASSWORD } from '#src/customer/customer.rule.ts'
import { isOperator, rightsOf } from '#src/customer/rights.ts'
import { AppError } from '#src/lib/app-error.ts'
import { type Message, message } from '#src/lib/messages/message.ts'
import type { Networks } from '#src/lib/net/networks.ts'
import type { Customer, CustomerStore } from '#src/store/store.ts'
import type { CurrentCustomers } from '#src/token/access.ts'
import { operatorErrors } from '#src/token/operator.errors.ts'
import type { HashQueue, Passwords } from './hashing.ts'
import { loginErrors } from './login.errors.ts'
import type { PasswordMemory } from './password-memory.ts'
import type { RefusalDelay } from './refusal-delay.ts'
import type { Attempt, Throttle } from './throttle.ts'

export interface LoginDependencies {
  readonly customers: Pick<CustomerStore, 'replacePasswordHash'>
  readonly currentCustomers: Pick<CurrentCustomers, 'findByEmail'>
  readonly passwords: Passwords
  readonly throttle: Throttle
  readonly memory: PasswordMemory
  readonly queue: HashQueue
  readonly refusalDelay: RefusalDelay
  /** Where operators may log in from. Undefined if operators may log in from anywhere. */
  readonly operatorNetworks: Networks | undefined
  /** Called if an outdated hash could not be renewed; the login itself succeeds. */
  readonly onRehashFailed: (error: unknown) => void
}

export interface Credentials {
  readonly email: string
  readonly password: string
  /** The h-region-code header, if it was sent. */
  readonly region: string | undefined
  /** Whether only operators may log in. */
  readonly operatorsOnly?: boolean
  /** The client's address. */
  readonly address: string
  /** Whether the client is still connected. */
  readonly isAwaited: () => boolean
}

export interface LoggedIn {
  readonly customer: Customer
  readonly region: string
}

export function createLogIn(dependencies: LoginDependencies) {
  const { customers, currentCustomers, passwords, throttle, memory, queue } = dependencies
  const { refusalDelay, operatorNetworks, onRehashFailed } = dependencies

  const renewHash = async ({ id, passwordHash }: Customer, password: string): Promise<void> => {
    await customers.replacePasswordHash(id, passwordHash, await passwords.hash(password))
  }

  /** Without a customer nothing matches, which takes as long as a wrong password. */
  const verify = async (
    attempt: Attempt,
    customer: Customer | undefined,
    { password, isAwaited }: Credentials,
  ): Promise<boolean> => {
    if (customer !== undefined && memory.recognises(customer, password)) {
      await attempt.succeeded()
      return true
    }
    const passwordHash = customer?.passwordHash ?? passwords.unmatched
    // Logins with the same credentials that come from one network at once are one attempt, and cost one hash.
    const key = memory.nameOf(attempt.pair, passwordHash, password)
    return queue.run({ key, isPreferred: attempt.isKnown, isAwaited }, async () => {
      // As a failure, until the hash shows otherwise.
      await attempt.count()
      const matches = await passwords.verify(passwordHash, password).catch(async (error: unknown) => {
        await attempt.undo()
        throw error
      })
      if (!matches || customer === undefined) return false
      await attempt.succeeded()
      memory.remember(customer, password)
      if (passwords.isOutdated(passwordHash)) await renewHash(customer, password).catch(onRehashFailed)
      return true
    })
  }

  const logIn = async (credentials: Credentials): Promise<LoggedIn> => {
    const email = canonicalEmail(credentials.email)
    const [attempt, { customer, region, reason }] = await Promise.all([
      throttle.attempt(email ?? credentials.email, credentials.address),
      findCandidate(
        currentCustomers,
        email,
        readRegion(credentials.region),
        operatorNetworks?.contain(credentials.address) ?? true,
      ),
    ])
    const matches = await verify(attempt, reason === undefined ? customer : undefined, credentials)
    if (reason !== undefined || !matches) {
      const details = { reason: reason ?? message('PASSWORD_WRONG'), ...(customer && { customerId: customer.id }) }
      throw new AppError(loginErrors.refused, details)
    }
    if (credentials.operatorsOnly && !isOperator(rightsOf(customer)))
      throw new AppError(operatorErrors.required, { customerId: customer.id })
    return { customer, region }
  }

  return async (credentials: Credentials): Promise<LoggedIn> => {
    if (!isUsablePassword(credentials.password)) throw new AppError(loginErrors.passwordUnusable)
    try {
      return await logIn(credentials)
    } catch (error) {
      if (error instanceof AppError && COST_NO_HASH.has(error.code)) await refusalDelay.wait()
      throw error
    }
  }
}

const COST_NO_HASH: ReadonlySet<string> = new Set([loginErrors.throttled.code, loginErrors.overloaded.code])

/** The customer and region of a login, or why no password would open the account. */
type Candidate =
  | { readonly customer: Customer; readonly region: string; readonly reason?: undefined }
  | { readonly customer?: Customer; readonly region?: undefined; readonly reason: Message }

async function findCandidate(
  { findByEmail }: LoginDependencies['currentCustomers'],
  email: string | undefined,
  region: string | undefined,
  mayBeOperator: boolean,
): Promise<Candidate> {
  const customer = email === undefined ? undefined : await findByEmail(email)
  if (customer === undefined) return { reason: message('EMAIL_UNKNOWN') }
  if (!customer.enabled) return { customer, reason: message('LOGIN_DISABLED') }
  if (!customer.isApi) return { customer, reason: message('LOGIN_NOT_API') }
  if (customer.passwordHash === NO_PASSWORD) return { customer, reason: message('LOGIN_WITHOUT_PASSWORD') }
  if (region === undefined || !customer.regions.includes(region)) return { customer, reason: message('LOGIN_REGION') }
  if (customer.scope !== 'customer' && !mayBeOperator) return { customer, reason: message('OPERATOR_ELSEWHERE') }
  return { customer, region }
}
