/** Secrets that all processes on one store share. */
export interface SecretStore {
  /** Inserts `candidate` unless there is a secret of that name. Resolves to the secret that is stored. */
  findOrInsert(name: string, candidate: Uint8Array): Promise<Uint8Array>
  /** Lists the secrets whose name begins with `prefix`. */
  list(prefix: string): Promise<{ readonly name: string; readonly value: Uint8Array }[]>
  /** Does nothing if there is no secret of that name. */
  rename(name: string, newName: string): Promise<void>
}
