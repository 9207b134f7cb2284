/** Counted for each kept body in addition to its own bytes. */
export const ROW_BYTES = 512

/** After the limit was lowered, one write removes at most this many bytes more than it stores. */
export const FREED_AT_ONCE = 2 * 1024 * 1024

/** The code of an entry in the list of refusals that stands for those that are not listed. */
export const NOT_LISTED = 'REFUSALS_NOT_LISTED'
