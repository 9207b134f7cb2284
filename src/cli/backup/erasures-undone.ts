import type { AuditEvent, Delivery, DeliverySummary, Store } from '#src/store/store.ts'
import { typed, type Undone } from './undone-row.ts'

const MAX_EVENTS = 100_000
const FOUND_AT_ONCE = 500
const SCANNED_AT_ONCE = 20_000

/**
 * The deliveries and orders that were erased, by the receipts in the audit log. Also looks at erasures before `since`: a backup that was begun
 * while one was under way has its event, and may have its payloads.
 */
export async function erasuresUndone(was: Store, willBe: Store, since: number): Promise<Undone[]> {
  const undone = new Map<string, Undone>()
  const add = (name: string, happened: string, repeat: string) => undone.set(repeat, [name, happened, repeat])
  const listErasures = (action: string) => was.audit.list({ action, limit: MAX_EVENTS })
  for (const event of await listErasures('order.erase')) {
    const customerId = event.customerId as string
    const receiptId = event.details.receiptId as string | null
    const erased = receiptId === null ? undefined : await findEither(was, willBe, receiptId)
    if (erased === undefined) {
      if (event.at > since && (await mayBeBack(willBe, customerId, receiptId)))
        add(`an order of the customer ${customerId}`, ...unknownOrder(receiptId, customerId))
    } else if (erased.orderId !== null && (await isOrderBack(willBe, erased.orderId, event, since))) {
      const repeat = typed('order erase', '--customer', customerId, '--', erased.orderId)
      add(`order ${erased.orderId}`, 'was erased, and has payloads again', repeat)
    }
  }
  for (const { details } of await listErasures('delivery.erase')) {
    const back = await deliveryBack(was, willBe, String(details.receiptId))
    if (back !== undefined)
      add(`delivery ${back}`, 'was erased, and has its payload again', typed('delivery erase', back))
  }
  return [...undone.values()]
}

/** The customers that were erased since, or that were being erased while the backup was made. */
export async function customersUnerased(was: Store, willBe: Store, since: number): Promise<Set<string>> {
  const found = new Set<string>()
  for (const { customerId, at, details } of await was.audit.list({ action: 'customer.remove', limit: MAX_EVENTS }))
    if (customerId !== null && details.erase && (at > since || (await hasRemains(willBe, customerId))))
      found.add(customerId)
  return found
}

/** Whether a customer has a payload or a refused body. Looks at the newest first, which are erased last. */
async function hasRemains({ deliveries, purges, refused }: Store, customerId: string): Promise<boolean> {
  if ((await refused.list({ customerId, limit: 1 })).length > 0) return true
  for (let before = Number.MAX_SAFE_INTEGER; before > 0; ) {
    const page = await deliveries.before(before, { customerId }, { limit: FOUND_AT_ONCE, scan: SCANNED_AT_ONCE })
    const positions = page.deliveries.map(({ position }) => position)
    if ((await purges.erasable({ customerId, positions, sameAs: null })).length > 0) return true
    before = page.position
  }
  return false
}

/** As it is in either store. The restored one may know the order id of a delivery whose customer was erased since. */
const findEither = async (was: Store, willBe: Store, receiptId: string): Promise<Delivery | undefined> =>
  (await willBe.deliveries.findByReceipt(receiptId)) ?? (await was.deliveries.findByReceipt(receiptId))

/** Without a receipt the order had refused bodies only. */
const mayBeBack = async (
  { customers, refused }: Store,
  customerId: string,
  receiptId: string | null,
): Promise<boolean> =>
  receiptId === null
    ? (await refused.list({ customerId, limit: 1 })).length > 0
    : (await customers.findById(customerId)) !== undefined

const unknownOrder = (receiptId: string | null, customerId: string): [happened: string, look: string] =>
  receiptId === null
    ? [
        'of which only refused bodies were kept was erased, and may have them again. The audit log does not say which: look through',
        typed('delivery refused list', '--customer', customerId),
      ]
    : [
        'was erased, and may have payloads again. The delivery that the audit log names was purged since: look through',
        typed('order list', '--customer', customerId),
      ]

/** Whether an order has a payload or a refused body from before it was erased. */
async function isOrderBack(
  { deliveries, refused }: Store,
  orderId: string,
  { customerId, at, details }: AuditEvent,
  since: number,
): Promise<boolean> {
  const to = at > since ? undefined : at + 1
  const isBack = (each: DeliverySummary | Delivery): boolean =>
    !each.erased && (to === undefined || each.receivedAt < to)
  const named = await deliveries.findByReceipt(String(details.receiptId))
  if (named !== undefined && isBack(named)) return true
  for (let from: number | undefined; ; ) {
    const page = await deliveries.history(customerId as string, orderId, { from, limit: FOUND_AT_ONCE })
    if (page.some(isBack)) return true
    if (page.length < FOUND_AT_ONCE) break
    from = page.at(-1)?.position
  }
  return (await refused.list({ customerId: customerId as string, orderId, to, limit: 1 })).length > 0
}

/** The receipt of a delivery that was erased and is back. Of an echo that came after the backup, that of what it repeats. */
async function deliveryBack(was: Store, willBe: Store, receiptId: string): Promise<string | undefined> {
  const restored = await willBe.deliveries.findByReceipt(receiptId)
  if (restored !== undefined) return restored.erased ? undefined : receiptId
  const erased = await was.deliveries.findByReceipt(receiptId)
  if (erased === undefined || !erased.duplicate || erased.orderId === null) return undefined
  // What a later echo repeats makes the state of its order, if it is there at all.
  const state = await willBe.deliveries.orderState(erased.customerId, erased.orderId)
  const [before, after] = [was, willBe].map(({ deliveries }) => state && deliveries.findByReceipt(state.receiptId))
  return (await before)?.erased && (await after)?.erased === false ? state?.receiptId : undefined
}
