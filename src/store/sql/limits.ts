/** Larger than any customer number, count or time in a store. */
export const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** Sorts after every id. */
export const LAST_ID = '\u{10ffff}'
