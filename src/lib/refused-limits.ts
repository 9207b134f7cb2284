/** Counted for each kept body in addition to its own bytes. */
export const ROW_BYTES = 512

/** After the limit was lowered, one write removes at most this many bytes more than it stores. */
export const FREED_AT_ONCE = 2 * 1024 * 1024
