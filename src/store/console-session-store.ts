/** Somebody who is signed in to the console. */
export interface ConsoleSession {
  /** `sid` of its tokens. */
  readonly id: string
  /** SHA-256 of the reference in the cookie. */
  readonly digest: Uint8Array
  readonly customerId: string
  readonly region: string
  /** When the password was entered, in milliseconds since 1970, as are the next two. */
  readonly authAt: number
  /** It ends here unless it is renewed before. Never after `endsAt`. */
  readonly idleUntil: number
  readonly endsAt: number
  readonly address: string
  /** The User-Agent header. */
  readonly agent: string
}

/** The part of the port for the sessions of the console. Changes of a customer that end its tokens end its sessions. */
export interface ConsoleSessionStore {
  /**
   * Adds a session, and ends those with the digests `formers` and the oldest others of the customer beyond `most`. Resolves to false, and
   * adds none, if the tokens of the customer are no longer of `tokenGeneration`.
   */
  begin(
    session: ConsoleSession,
    how: {
      readonly tokenGeneration: string
      readonly formers: readonly Uint8Array[]
      readonly most: number
      readonly now: number
    },
  ): Promise<boolean>
  /** Resolves to when the session of this id expires; to undefined once it has been ended, or was deleted after it had expired. */
  expiry(id: string): Promise<number | undefined>
  /** Finds a session that has not expired. */
  find(digest: Uint8Array, now: number): Promise<ConsoleSession | undefined>
  /** Finds it and lets it expire at `idleUntil`, or at its end if that comes first. */
  renew(digest: Uint8Array, idleUntil: number, now: number): Promise<ConsoleSession | undefined>
  /** Resolves to whether there was such a session. */
  end(digest: Uint8Array): Promise<boolean>
  endAll(): Promise<void>
  /** Deletes those that have expired. */
  deleteExpired(now: number): Promise<void>
}
