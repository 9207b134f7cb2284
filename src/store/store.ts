/**
 * What teslim asks of a database, in no database's words. Two adapters implement it in this order, and one conformance
 * suite (test/store/store-conformance.ts) holds both to it.
 */
export interface Store {
  readonly customers: CustomerStore
  readonly signingKeys: SigningKeyStore
  /** Resolves when the store can answer; rejects with STORE_UNAVAILABLE when it cannot. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface Customer {
  readonly id: string
  /** Canonical: trimmed, ASCII letters in lower case. Unique. */
  readonly email: string
  /** PHC string. */
  readonly passwordHash: string
  readonly isApi: boolean
  readonly operator: boolean
  readonly enabled: boolean
  /** Two capital letters each, sorted. */
  readonly regions: readonly string[]
  /** Exact product codes, prefixes (`ABC-*`) or `*`, sorted. */
  readonly authority: readonly string[]
  /** Seconds since 1970. A token issued before is refused. */
  readonly tokensValidFrom: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

export interface CustomerStore {
  insert(customer: Customer): Promise<'inserted' | 'email-taken'>
  findById(id: string): Promise<Customer | undefined>
  findByEmail(email: string): Promise<Customer | undefined>
  /** By id, beginning after `afterId`. */
  list(page: { readonly afterId?: string; readonly limit: number }): Promise<Customer[]>
  /** The methods below resolve to false when there is no such customer. `tokensValidFrom` never moves back. */
  setPassword(id: string, passwordHash: string, tokensValidFrom: number): Promise<boolean>
  /** Changes nothing, and resolves to false, when the hash is no longer `from`. */
  replacePasswordHash(id: string, from: string, to: string): Promise<boolean>
  enable(id: string): Promise<boolean>
  disable(id: string, tokensValidFrom: number): Promise<boolean>
  addAuthority(id: string, rules: readonly string[]): Promise<boolean>
  removeAuthority(id: string, rules: readonly string[]): Promise<boolean>
}

export interface SigningKey {
  /** RFC 7638 thumbprint. */
  readonly kid: string
  readonly algorithm: string
  /** The private JWK as JSON text. */
  readonly privateJwk: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

export interface SigningKeyStore {
  /** Keeps `candidate` unless a key for its algorithm is there already; resolves to the newest one there is. */
  insertFirst(candidate: SigningKey): Promise<SigningKey>
  /** Newest first. */
  list(): Promise<SigningKey[]>
}
