/** A count of failed logins under a name. The name is a digest, so the store reveals neither account nor address. */
export interface LoginFailures {
  readonly count: number
  /** Milliseconds since 1970. */
  readonly lastAt: number
}

export interface Countdown {
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
