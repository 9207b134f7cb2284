import type { Bounds, Customer, CustomerFilter } from '../store.ts'

/** Larger than any customer number, count or time in a store. */
export const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** Sorts after every id. */
export const LAST_ID = '\u{10ffff}'

/** The values that SQL takes for a filter of customers: NULL lets everything through. */
export const customerFilterValues = ({ text, isApi, operator, readOnly, enabled, removed }: CustomerFilter) =>
  [text, isApi, operator, readOnly, enabled, removed].map((value) => value ?? null)

/** Continues after the last customer of a full page, and after all that the walk looked at otherwise: up to `end`, if not to the last. */
export const customerPage = (customers: Customer[], end: string | undefined, { limit }: Bounds) => ({
  customers,
  next: (customers.length === limit ? customers.at(-1)?.id : end) ?? null,
})
