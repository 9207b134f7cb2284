/** Wall-clock time in milliseconds since 1970. Rules are handed one and never ask the system themselves. */
export interface Clock {
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

export const toSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000)

/** `YYYY-MM-DDTHH:MM:SSZ`, the contract's form of a time of day. */
export const isoSeconds = (seconds: number): string => `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`
