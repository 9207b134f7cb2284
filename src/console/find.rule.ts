import { displayName } from '#src/lib/display-name.ts'
import { asciiLowerCase, isStorable } from '#src/lib/text.ts'
import type { Customer, OrderPlace, Store } from '#src/store/store.ts'

export type Kind = 'delivery' | 'order' | 'customer' | 'key' | 'request' | 'refusal'

export interface Match {
  readonly kind: Kind
  readonly id: string
  readonly customerId: string | null
  /** What it is called: an order id, name and e-mail address, a label, an error code. */
  readonly text: string
  /** Whether no delivery of the order was accepted. */
  readonly refusedOnly?: boolean
}

export const MAX_MATCHES = 20
export const MAX_TEXT = 200

const MIN_PREFIX = 4
const BEGINS_AN_ID = /^[0-9a-f][0-9a-f-]{0,35}$/
/** Customers that one step looks at, and all steps of one search. */
const CUSTOMERS_AT_ONCE = 2_500
const MAX_CUSTOMERS = 20_000
/** Refusals of an order that one step looks at, and all steps of one search. */
const REFUSALS_AT_ONCE = 500
const MAX_REFUSALS = 2_000
/** Deliveries that the search for a request looks at. */
const MAX_DELIVERIES = 20_000

type FindStore = Pick<Store, 'deliveries' | 'customers' | 'apiKeys' | 'refused' | 'audit'>

/**
 * Finds what a text may name: by a whole id, or the only one that begins with it; an order by its whole id, also if all its deliveries were
 * refused; a customer by a part of its name, note or e-mail address. Everything is looked up by an index, or in a bounded number of
 * customers.
 */
export function createFind({ deliveries, customers, apiKeys, refused, audit }: FindStore) {
  const ofReceipt = async (prefix: string): Promise<Match[]> => {
    const [receipt, other] = await deliveries.receiptsWith(prefix, 2)
    const found = receipt === undefined || other !== undefined ? undefined : await deliveries.findByReceipt(receipt)
    if (found === undefined) return []
    return [{ kind: 'delivery', id: found.receiptId, customerId: found.customerId, text: found.orderId ?? '' }]
  }

  const ofDelivering = async (requestId: string): Promise<Match[]> => {
    const receipts = await deliveries.receiptsOfRequest(requestId, { limit: MAX_MATCHES, scan: MAX_DELIVERIES })
    return (await Promise.all((receipts ?? []).map(ofReceipt))).flat()
  }

  const ofRefusal = async (idPrefix: string): Promise<Match[]> => {
    const { refusals } = await refused.refusals({ idPrefix }, { limit: 2, scan: 2 })
    return only(refusals).map(({ refusalId, customerId, errorCode }) => ({
      kind: 'refusal',
      id: refusalId,
      customerId,
      text: errorCode,
    }))
  }

  const ofKey = async (prefix: string): Promise<Match[]> =>
    only(await apiKeys.withPrefix(prefix, 2)).map(({ id, customerId, label }) => ({
      kind: 'key',
      id,
      customerId,
      text: label,
    }))

  const ofCustomerId = async (prefix: string): Promise<Match[]> => {
    const exact = await customers.findById(prefix)
    const next = exact ? [exact] : await customers.list({ afterId: prefix, limit: 2 })
    return only(next.filter(({ id }) => id.startsWith(prefix))).map(customerMatch)
  }

  const ofWords = async (part: string): Promise<Match[]> => {
    const found: Match[] = []
    let after = ''
    for (let looked = 0; looked < MAX_CUSTOMERS && found.length < MAX_MATCHES; looked += CUSTOMERS_AT_ONCE) {
      const bounds = { limit: MAX_MATCHES, scan: CUSTOMERS_AT_ONCE }
      const { customers: some, next } = await customers.search({ text: part }, after, bounds)
      // The search also finds beginnings of ids, which are found only if they are unique.
      const fits = ({ email, name, note }: Customer): boolean =>
        [email, name, note].some((text) => asciiLowerCase(text).includes(part))
      found.push(...some.filter(fits).map(customerMatch))
      if (next === null) break
      after = next
    }
    return found
  }

  const ofRequest = async (requestId: string): Promise<Match[]> => {
    const { events } = await audit.before(null, { requestId }, { limit: 1, scan: 1 })
    return events.map(({ customerId, details, action }) => ({
      kind: 'request',
      id: requestId,
      customerId,
      text: typeof details.errorCode === 'string' ? details.errorCode : action,
    }))
  }

  const ofOrder = async (orderId: string): Promise<Match[]> => {
    const found: Match[] = []
    let after: OrderPlace | null = null
    for (let looked = 0; looked < MAX_CUSTOMERS && found.length < MAX_MATCHES; looked += CUSTOMERS_AT_ONCE) {
      const bounds = { limit: MAX_MATCHES, scan: CUSTOMERS_AT_ONCE }
      const page: Awaited<ReturnType<typeof deliveries.orders>> = await deliveries.orders(after, { orderId }, bounds)
      found.push(
        ...page.orders.map(
          (order): Match => ({ kind: 'order', id: orderId, customerId: order.customerId, text: orderId }),
        ),
      )
      if (page.next === null) break
      after = page.next
    }
    return found
  }

  const ofRefusedOrder = async (orderId: string): Promise<Match[]> => {
    const who = new Set<string>()
    let before: string | undefined
    for (let looked = 0; looked < MAX_REFUSALS && who.size < MAX_MATCHES; looked += REFUSALS_AT_ONCE) {
      const bounds = { limit: REFUSALS_AT_ONCE, scan: REFUSALS_AT_ONCE }
      const page: Awaited<ReturnType<typeof refused.refusals>> = await refused.refusals({ orderId, before }, bounds)
      for (const { customerId } of page.refusals) if (customerId !== null) who.add(customerId)
      if (page.next === null) break
      before = page.next
    }
    const found: Match[] = []
    for (const customerId of [...who].slice(0, MAX_MATCHES)) {
      const isAccepted = (await deliveries.orderState(customerId, orderId)) !== undefined
      if (!isAccepted) found.push({ kind: 'order', id: orderId, customerId, text: orderId, refusedOnly: true })
    }
    return found
  }

  return async (typed: string): Promise<Match[]> => {
    const text = typed.trim()
    if (text === '' || !isStorable(text)) return []
    const lower = asciiLowerCase(text)
    const isId = lower.length >= MIN_PREFIX && BEGINS_AN_ID.test(lower)
    const ways = [
      ...(isId ? [ofReceipt(lower), ofRefusal(lower), ofKey(lower), ofCustomerId(lower)] : []),
      ofRequest(text),
      ofDelivering(lower),
      ofOrder(text),
      ofRefusedOrder(text),
      ofWords(lower),
    ]
    const found = (await Promise.all(ways)).flat()
    return withoutRepeats(found).slice(0, MAX_MATCHES)
  }
}

/** Returns nothing if several match. */
const only = <Found>(found: readonly Found[]): readonly Found[] => (found.length === 1 ? found : [])

const customerMatch = (customer: Customer): Match => ({
  kind: 'customer',
  id: customer.id,
  customerId: customer.id,
  text: displayName(customer),
})

const withoutRepeats = (matches: readonly Match[]): Match[] => [
  ...new Map(matches.map((match) => [JSON.stringify([match.kind, match.id, match.customerId]), match])).values(),
]
