import type { Bounds } from './delivery-store.ts'

/** What a token of a customer may do: src/customer/rights.ts says which rights that are. */
export type Scope = 'customer' | 'feed' | 'operator:support' | 'operator:read' | 'operator'

export interface Customer {
  readonly id: string
  /** Trimmed, with ASCII letters in lower case. Unique. */
  readonly email: string
  /** What people call it; empty for no name. The two that follow, likewise. */
  readonly name: string
  readonly note: string
  /** Why it is disabled. */
  readonly disabledReason: string
  /** Milliseconds without a delivery after which it is silent, 0 for never; null for those of the server. */
  readonly silence: number | null
  /** PHC string. */
  readonly passwordHash: string
  readonly isApi: boolean
  readonly scope: Scope
  /** Whether an operator for support sees payloads, too; false for everybody else. */
  readonly payloads: boolean
  readonly enabled: boolean
  /** Two capital letters each, sorted. */
  readonly regions: readonly string[]
  /** Exact product codes, prefixes (`ABC-*`) or `*`, sorted. */
  readonly authority: readonly string[]
  /** Random text. Tokens of another generation are refused. */
  readonly tokenGeneration: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

export type CustomerName = Pick<Customer, 'id' | 'name' | 'email'>

/** Which customers are wanted. What is not given is not asked. */
export interface CustomerFilter {
  /** Part of e-mail address, name or note, or the prefix of the id. ASCII letters are in lower case here and compare in any case. */
  readonly text?: string | undefined
  readonly isApi?: boolean | undefined
  readonly scopes?: readonly Scope[] | undefined
  readonly enabled?: boolean | undefined
  readonly removed?: boolean | undefined
}

/** The part of the port for customers. */
export interface CustomerStore {
  insert(customer: Customer): Promise<'inserted' | 'email-taken'>
  findById(id: string): Promise<Customer | undefined>
  findByEmail(email: string): Promise<Customer | undefined>
  /** Lists by id, beginning after `afterId`. */
  list(page: { readonly afterId?: string; readonly limit: number }): Promise<Customer[]>
  /** Finds those of these customers that there are, by id. */
  findMany(ids: readonly string[]): Promise<Customer[]>
  /** Does the same for what they are called alone, in any order. */
  names(ids: readonly string[]): Promise<CustomerName[]>
  /** Returns customers after an id, by id. `next` is the id to continue after; null at the end. */
  search(
    filter: CustomerFilter,
    afterId: string,
    bounds: Bounds,
  ): Promise<{ readonly customers: Customer[]; readonly next: string | null }>
  /** This method and those below resolve to false if there is no such customer. A new `tokenGeneration` ends every token. */
  setPassword(id: string, passwordHash: string, tokenGeneration: string): Promise<boolean>
  /** Changes nothing and resolves to false if the hash is no longer `from`. */
  replacePasswordHash(id: string, from: string, to: string): Promise<boolean>
  enable(id: string): Promise<boolean>
  /** Without a reason a former one stays. */
  disable(id: string, how: { readonly reason: string | null; readonly tokenGeneration: string }): Promise<boolean>
  revokeTokens(id: string, tokenGeneration: string): Promise<boolean>
  addAuthority(id: string, rules: readonly string[]): Promise<boolean>
  removeAuthority(id: string, rules: readonly string[]): Promise<boolean>
  /** Changes what is given, all or nothing. */
  change(id: string, change: CustomerChange): Promise<'changed' | 'missing' | 'email-taken'>
  /**
   * Forgets everything about a customer except its id, to which its deliveries belong: the e-mail address becomes
   * `removed:` and the id, its keys are revoked. With `erase`, its deliveries count as erased from then on.
   */
  remove(
    id: string,
    how: { readonly tokenGeneration: string; readonly now: number; readonly erase: boolean },
  ): Promise<boolean>
}

export interface CustomerChange {
  readonly email?: string | undefined
  readonly name?: string | undefined
  readonly note?: string | undefined
  readonly silence?: number | null | undefined
  readonly isApi?: boolean | undefined
  readonly scope?: Scope | undefined
  readonly payloads?: boolean | undefined
  /** All regions from then on. */
  readonly regions?: readonly string[] | undefined
  readonly tokenGeneration?: string | undefined
}

/** A count of failed logins under a name. The name is a digest, so the store reveals neither account nor address. */
export interface LoginFailures {
  readonly count: number
  /** Milliseconds since 1970. */
  readonly lastAt: number
}

interface Countdown {
  readonly name: Uint8Array
  /** Identify the failure to undo: its time, and the count that `count` returned for it. */
  readonly countedAt: number
  readonly countedAs: number
  /** Time of the previous failure. It becomes the last one again unless others were counted meanwhile. */
  readonly lastAt: number
}

export interface LoginFailureStore {
  /** Finds the count under each name, in their order; undefined if there is none or it has expired by `now`. */
  find(names: readonly Uint8Array[], now: number): Promise<(LoginFailures | undefined)[]>
  /**
   * Adds one to the count under each name and resolves to the counts, in their order. Expired counts start at 0. Also deletes
   * expired rows, at most twice as many as it may add.
   */
  count(failures: readonly { readonly name: Uint8Array; readonly expiresAt: number }[], now: number): Promise<number[]>
  /** Deletes the names in `forget`, subtracts one under those in `countDown`, and adds `remember` with a count of 0: all or nothing. */
  settle(
    change: {
      readonly forget: readonly Uint8Array[]
      readonly countDown: readonly Countdown[]
      readonly remember: readonly { readonly name: Uint8Array; readonly expiresAt: number }[]
    },
    now: number,
  ): Promise<void>
}
