import type { AuditEvent } from '#src/store/store.ts'
import { printable } from './printable.ts'

/** An event of the audit log as JSON shows it. */
export const eventJson = ({ at, ...event }: AuditEvent) => ({ at: new Date(at).toISOString(), ...event })

/** The same as people read it: time, action, by whom or from where, customer, what. */
export function eventCells({ at, actor, action, customerId, address, details }: AuditEvent, email?: string): string[] {
  const time = new Date(at).toISOString().slice(0, 19).replace('T', ' ')
  return [time, action, address ?? actor, email ?? customerId ?? '', describe(details)].map(printable)
}

function describe({ errorCode, reason, notRecorded, ...more }: AuditEvent['details']): string {
  const words = Object.entries(more)
    .map(([name, value]) => [name, inWords(value)])
    .filter(([, value]) => value !== '')
    .map((both) => both.join(' '))
  if (notRecorded !== undefined) return [`${notRecorded} more, not recorded one by one`, ...words].join('; ')
  if (errorCode !== undefined) words.unshift(reason === undefined ? `${errorCode}` : `${reason} (${errorCode})`)
  return words.join('; ')
}

function inWords(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ')
  if (value === null || typeof value !== 'object') return value === null ? 'none' : String(value)
  return Object.entries(value)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
}
