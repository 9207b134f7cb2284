import type { Rights } from '#src/customer/rights.ts'
import type { ConsoleSessionStore, Customer, CustomerStore, Scope } from '#src/store/store.ts'

export type { Right } from '#src/customer/rights.ts'

export interface Access {
  readonly customer: Customer
  readonly region: string
  /** The scope of the token, or that of the customer if it has fewer rights by now. */
  readonly scope: Scope
  /** Those that the token names, and that its customer has by now. */
  readonly rights: Rights
  /** Whether it concerns the data of all customers. */
  readonly seesAll: boolean
  readonly expiresAt: number
  /** Undefined for a token of the login. */
  readonly session: TokenSession | undefined
  /** Returns the same as long as the token still grants it; throws one of `tokenErrors` from then on. */
  again(): Promise<Access>
  /** As `again`; but what a token of a session has begun may go on until the session ends. */
  againInSession(): Promise<Access>
}

/** The session of the console that a token belongs to. */
export interface TokenSession {
  readonly id: string
  /** When the password was entered, in seconds since 1970. */
  readonly authAt: number
}

export interface IssuedToken {
  readonly token: string
  /** Seconds since 1970, equal to `exp`. */
  readonly expiresAt: number
}

/** Finds customers as they are now. */
export type CurrentCustomers = Pick<CustomerStore, 'findById' | 'findByEmail'>

export interface SessionCheck extends Pick<ConsoleSessionStore, 'expiry'> {
  /** Whether a session has not been ended, by the version that was read when its customer was found. */
  readonly isThere: (id: string) => Promise<boolean>
}
