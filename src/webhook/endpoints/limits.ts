/** A year. */
export const LONGEST_OVERLAP_HOURS = 8784
export const SHORTEST_GIVE_UP_SECONDS = 60
export const LONGEST_GIVE_UP_SECONDS = 31_536_000
