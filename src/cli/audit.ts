import { ACTIONS } from '#src/audit/action-names.ts'
import { shownDetails } from '#src/audit/actions.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import { namesOf } from '#src/lib/display-name.ts'
import { nearest } from '#src/lib/nearest.ts'
import type { AuditEvent } from '#src/store/store.ts'
import type { Command } from './command.ts'
import { limitOption, readLimit } from './input/number.ts'
import { periodOptions, readPeriod } from './input/time.ts'
import { table } from './output/table.ts'
import type { Times } from './output/times.ts'
import { withAccounts } from './with-accounts.ts'

const DEFAULT_LIMIT = 100

export const auditList: Command = {
  name: 'audit list',
  about: 'List what operators did and what was refused, newest last',
  options: {
    customer: { value: 'CUSTOMER', about: 'Only events of this customer: e-mail address or id' },
    action: { value: 'TEXT', about: 'Only actions that begin with this text: login, customer.dis, key.rotate' },
    order: { value: 'ORDERID', about: 'Only refused deliveries of this order' },
    request: { value: 'REQUESTID', about: 'Only what this request caused: the x-request-id of its answer' },
    key: { value: 'KEYID', about: 'Only what was done with or to this API key' },
    ...periodOptions,
    limit: limitOption(DEFAULT_LIMIT, 'the newest'),
  },
  async run(input, context) {
    const filter = {
      action: input.text('action'),
      orderId: input.text('order'),
      requestId: input.text('request'),
      ...readPeriod(input, context.clock.now()),
      keyId: input.text('key'),
      limit: readLimit(input, DEFAULT_LIMIT),
    }
    const who = input.text('customer')
    const { events, names } = await withAccounts(context, 'read', async (accounts, { audit, customers }) => {
      const customerId = who === undefined ? undefined : (await accounts.customers.show(who)).id
      const events = await audit.list({ ...filter, customerId })
      const ids = events.map((event) => event.customerId)
      return { events, names: await namesOf(customers.names, ids) }
    })
    const { times, columns } = context
    return {
      json: events.map(eventJson),
      text() {
        if (events.length === 0) return `No event matches.${guess(filter.action)}`
        const cells = events.map((event) => eventCells(event, times, names.get(event.customerId ?? '')))
        return table([times.heading('time'), 'action', 'by', 'customer', 'what'], cells, columns)
      },
    }
  },
}

/** Suggests the action, or its beginning, that was probably meant. */
function guess(typed = ''): string {
  if (ACTIONS.some((action) => action.startsWith(typed))) return ''
  const meant = nearest(
    typed,
    ACTIONS.flatMap((action) => [action, action.split('.', 1).join()]),
  )
  return meant === undefined ? '' : ` Did you mean --action ${meant}?`
}

const eventJson = ({ at, details, ...event }: AuditEvent) => ({
  at: new Date(at).toISOString(),
  ...event,
  details: shownDetails(details),
})

/** An event as people read it: time, action, who or from where, customer, details. */
export function eventCells(event: AuditEvent, times: Times, customer?: string): string[] {
  const { at, actor, action, customerId, address, orderId, keyId, details } = event
  const what = [
    describe(shownDetails(details), times),
    ...(orderId === null ? [] : [`order ${orderId}`]),
    ...(keyId === null ? [] : [`key ${keyId}`]),
  ]
  return [times.text(at), action, by(actor, address), customer ?? customerId ?? '', what.join('; ')]
}

/** Names the operator of an action; a refused request has an address only. */
function by(actor: string, address: string | null): string {
  if (address === null) return actor
  return actor === 'api' ? address : `${actor} (${address})`
}

/** Leaves out the message to the supplier, which says less than the reason. */
function describe(details: AuditEvent['details'], times: Times): string {
  const { errorCode, reason, message: _, messages: _messages, notRecorded, ...more } = details
  const words = Object.entries(more)
    .map(([name, value]) => [name, inWords(value, times)])
    .filter(([, value]) => value !== '')
    .map((both) => both.join(' '))
  if (notRecorded !== undefined) return [`${notRecorded} more, not recorded one by one`, ...words].join('; ')
  if (errorCode !== undefined) words.unshift(reason === undefined ? `${errorCode}` : `${reason} (${errorCode})`)
  return words.join('; ')
}

function inWords(value: unknown, times: Times): string {
  if (typeof value === 'string') return isTime(value) ? times.stamp(Date.parse(value)) : value
  if (Array.isArray(value)) return value.join(', ')
  if (value === null || typeof value !== 'object') return value === null ? 'none' : String(value)
  return Object.entries(value)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
}

const isTime = (text: string): boolean => {
  const at = Date.parse(text)
  return !Number.isNaN(at) && isoMilliseconds(at) === text
}
