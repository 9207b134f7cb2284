import type { Check } from '#src/doctor/checks.ts'

/** What the thread of the checks tells: which one begins, what was found, and that this was all. */
export type DoctorMessage = { readonly begins: string } | { readonly found: readonly Check[] } | { readonly done: true }
