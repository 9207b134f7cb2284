/** A year. */
export const MAX_OVERLAP_HOURS = 8784
export const MIN_GIVE_UP_SECONDS = 60
export const MAX_GIVE_UP_SECONDS = 31_536_000
