/** Secrets that all processes on one store share. */
export interface SecretStore {
  /** Inserts `candidate` unless there is a secret of that name. Resolves to the secret that is stored. */
  findOrInsert(name: string, candidate: Uint8Array): Promise<Uint8Array>
  /** Lists the secrets whose name begins with `prefix`. */
  list(prefix: string): Promise<{ readonly name: string; readonly value: Uint8Array }[]>
  /** Does nothing if there is no secret of that name. */
  rename(name: string, newName: string): Promise<void>
}

export interface SigningKey {
  /** RFC 7638 thumbprint. */
  readonly kid: string
  readonly algorithm: string
  /** The private JWK as JSON, unencrypted or encrypted. */
  readonly privateJwk: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** When the key stops verifying tokens. Null for a key that has not been replaced; only such a key signs. */
  readonly expiresAt: number | null
}

export interface SigningKeyStore {
  /** Inserts `candidate` unless there is a key of its algorithm that may sign. Resolves to the newest such key. */
  insertFirst(candidate: SigningKey): Promise<SigningKey>
  /** Lists the newest first, by `createdAt`, then `kid`. */
  list(): Promise<SigningKey[]>
  /**
   * Inserts `candidate` and makes all other keys expire at `othersExpireAt` at the latest. Changes nothing and resolves to
   * false if the newest key of its algorithm that may sign is no longer `replaced`.
   */
  rotate(candidate: SigningKey, replaced: string, othersExpireAt: number): Promise<boolean>
  /** Deletes the keys that have expired by `now`. Resolves to their number. */
  removeExpired(now: number): Promise<number>
  /** Makes all changes or none. Resolves to false if a key is missing or its text is no longer `from`. */
  rewrap(changes: readonly SigningKeyRewrap[]): Promise<boolean>
}

export interface SigningKeyRewrap {
  readonly kid: string
  readonly from: string
  readonly to: string
}
