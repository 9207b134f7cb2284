import { displayName } from '#src/lib/display-name.ts'
import { asciiLowerCase, isStorable } from '#src/lib/text.ts'
import type { ApiKey, Customer, Filter, OrderPlace, Store } from '#src/store/store.ts'

export const KINDS = ['delivery', 'order', 'customer', 'key', 'request', 'refusal'] as const

export interface Match {
  readonly kind: (typeof KINDS)[number]
  readonly id: string
  readonly customerId: string | null
  /** What it is called: an order id, name and e-mail address, a label, an error code. */
  readonly text: string
  /** Whether no delivery of the order was accepted. */
  readonly refusedOnly?: boolean
}

export const MAX_MATCHES = 20
/** Order ids often begin with the name of a customer, which is looked for, too. */
const MAX_BEGINNINGS = 10
export const MAX_TEXT = 200

const MIN_PREFIX = 4
const BEGINS_AN_ID = /^[0-9a-f][0-9a-f-]{0,35}$/
/** Customers, or API keys, that one step looks at, and all steps of one search. */
const LOOKED_AT_ONCE = 2_500
const MAX_LOOKED_AT = 20_000
/** Refusals of an order that one step looks at, and all steps of one search. */
const REFUSALS_AT_ONCE = 500
const MAX_REFUSALS = 2_000
/** Deliveries that the search for a request looks at. */
const MAX_DELIVERIES = 20_000

interface Step<Place> {
  readonly found: Match[]
  readonly next: Place | null
}

const NOTHING: Step<never> = { found: [], next: null }

type FindStore = Pick<Store, 'deliveries' | 'customers' | 'apiKeys' | 'refused' | 'audit'>

/**
 * Finds what a text may name: by a whole id, or the only one that begins with it; an order by the beginning of its id, or by its whole id
 * also if all its deliveries were refused; a customer by a part of its name, note or e-mail address, and an API key by a part of its label.
 * Everything is looked up by an index, or in a bounded number of customers and keys.
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

  const ofKey = async (prefix: string): Promise<Match[]> => only(await apiKeys.withPrefix(prefix, 2)).map(keyMatch)

  const ofCustomerId = async (prefix: string): Promise<Match[]> => {
    const exact = await customers.findById(prefix)
    const next = exact ? [exact] : await customers.list({ afterId: prefix, limit: 2 })
    return only(next.filter(({ id }) => id.startsWith(prefix))).map(customerMatch)
  }

  const ofWords = async (part: string): Promise<Match[]> => {
    // The search also finds beginnings of ids, which are found only if they are unique.
    const fits = ({ email, name, note }: Customer): boolean =>
      [email, name, note].some((text) => asciiLowerCase(text).includes(part))
    const { found } = await walked('', async (after) => {
      const { customers: some, next } = await customers.search({ text: part }, after, BOUNDS)
      return { found: some.filter(fits).map(customerMatch), next }
    })
    return found
  }

  const ofLabel = async (part: string): Promise<Match[]> => {
    const { found } = await walked('', async (after) => {
      const { keys, next } = await apiKeys.labelled(part, after, BOUNDS)
      return { found: keys.map(keyMatch), next }
    })
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

  const walkOrders = (begin: OrderPlace | null, filter: Pick<Filter, 'orderId' | 'orderIdPrefix'>) =>
    walked(begin, async (after) => {
      const { orders, next } = await deliveries.orders(after, filter, BOUNDS)
      return { found: orders.map(({ orderId, customerId }) => orderMatch(orderId, customerId)), next }
    })

  /**
   * Finds the orders with this id, and the first ones whose ids begin with it. A walk takes a look-up for each customer. The one for
   * beginnings finds the id itself, too, because that comes first among them; so the other one begins where that has stopped.
   */
  const ofOrders = async (text: string, alsoBeginnings: boolean) => {
    const begun = alsoBeginnings ? await walkOrders(null, { orderIdPrefix: text }) : NOTHING
    const isDone = alsoBeginnings && begun.next === null
    const more = isDone ? NOTHING : await walkOrders(begun.next, { orderId: text })
    return {
      same: [...begun.found.filter(({ id }) => id === text), ...more.found],
      begun: begun.found.slice(0, MAX_BEGINNINGS),
    }
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
      if (!isAccepted) found.push({ ...orderMatch(orderId, customerId), refusedOnly: true })
    }
    return found
  }

  return async (typed: string): Promise<Match[]> => {
    const text = typed.trim()
    if (text === '' || !isStorable(text)) return []
    const lower = asciiLowerCase(text)
    const isLong = text.length >= MIN_PREFIX
    const isId = isLong && BEGINS_AN_ID.test(lower)
    const orders = ofOrders(text, isLong)
    const ways = [
      ...(isId ? [ofReceipt(lower), ofRefusal(lower), ofKey(lower), ofCustomerId(lower)] : []),
      ofRequest(text),
      ofDelivering(lower),
      orders.then(({ same }) => same),
      ofRefusedOrder(text),
      orders.then(({ begun }) => begun),
      ofWords(lower),
      ofLabel(lower),
    ]
    const found = (await Promise.all(ways)).flat()
    return withoutRepeats(found).slice(0, MAX_MATCHES)
  }
}

const BOUNDS = { limit: MAX_MATCHES, scan: LOOKED_AT_ONCE }

/** Takes steps until it has found enough, or looked at enough. `next` is null if nothing is left to look at. */
async function walked<Place>(begin: Place, step: (after: Place) => Promise<Step<Place>>): Promise<Step<Place>> {
  const found: Match[] = []
  let next: Place | null = begin
  for (let looked = 0; looked < MAX_LOOKED_AT && found.length < MAX_MATCHES; looked += LOOKED_AT_ONCE) {
    const taken: Step<Place> = await step(next as Place)
    found.push(...taken.found)
    next = taken.next
    if (next === null) break
  }
  return { found, next }
}

/** Returns nothing if several match. */
const only = <Found>(found: readonly Found[]): readonly Found[] => (found.length === 1 ? found : [])

const customerMatch = (customer: Customer): Match => ({
  kind: 'customer',
  id: customer.id,
  customerId: customer.id,
  text: displayName(customer),
})

const orderMatch = (orderId: string, customerId: string): Match => ({
  kind: 'order',
  id: orderId,
  customerId,
  text: orderId,
})

const keyMatch = ({ id, customerId, label }: ApiKey): Match => ({ kind: 'key', id, customerId, text: label })

const withoutRepeats = (matches: readonly Match[]): Match[] => [
  ...new Map(matches.map((match) => [JSON.stringify([match.kind, match.id, match.customerId]), match])).values(),
]
