import { hash } from 'node:crypto'
import { customerNamed, OPERATOR } from '#src/customer/find-customer.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { type Message, message } from '#src/lib/messages/message.ts'
import { readUuid } from '#src/lib/random.ts'
import { isStorable } from '#src/lib/text.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { CustomerStore, Delivery, DeliveryStore, DeliverySummary, RefusedBodySummary } from '#src/store/store.ts'
import { withinBytes } from '#src/store/store.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { type EraseDependencies, type Erased, inTwoPasses, unreached, type WipeDependencies } from './erase.rule.ts'
import { createYielding } from './purge.rule.ts'

interface Stores extends Pick<EraseDependencies, 'purges' | 'refused'> {
  readonly customers: CustomerStore
  readonly deliveries: Pick<DeliveryStore, 'findByReceipt' | 'receiptsWith' | 'history' | 'before' | 'orders'>
}

type Dependencies = Stores & EraseDependencies & WipeDependencies & { readonly record: RecordErasure }

/** An order of a customer, or a delivery with its echoes. */
export interface ErasureTarget {
  readonly customerId: string
  readonly orderId: string | null
  /** Of the delivery, or of the one that made the state of the order; null if only refused bodies are left of it. */
  readonly receiptId: string | null
  /** Null for the whole order. */
  readonly delivery: Delivery | null
}

/** Writes into the audit log what is about to be erased, without the id of an order, which may have to be erased later. */
type RecordErasure = (
  action: 'delivery.erase' | 'order.erase',
  customerId: string,
  details: { readonly receiptId: string | null },
) => Promise<void>

/** How many were erased, or would be. */
interface Counts {
  /** Without those that were erased before. */
  readonly deliveries: number
  readonly refusedBodies: number
}

export interface ErasureReport extends Counts, Pick<Erased, 'left'> {
  readonly unreached: readonly Message[]
}

export interface ErasureOptions {
  readonly stores: Stores
  readonly databaseUrl: string
  readonly clock: Pick<Clock, 'monotonic'>
  readonly wait: EraseDependencies['wait']
  readonly record: RecordErasure
  readonly onProgress?: EraseDependencies['onProgress']
  readonly dryRun: boolean
  /** For a request: pages are wiped for so long, and what is left, or may not be done, is said with the command that does it. */
  readonly wipeMilliseconds?: number
}

export type FindTarget = (stores: Find) => Promise<ErasureTarget>

/** Erases what `find` finds, or only counts it. */
export async function erase(
  options: ErasureOptions,
  find: (stores: Find) => Promise<readonly ErasureTarget[]>,
): Promise<ErasureReport> {
  const { stores, databaseUrl, clock, wait, record, onProgress = () => undefined, dryRun, wipeMilliseconds } = options
  const end = clock.monotonic() + (wipeMilliseconds ?? Number.POSITIVE_INFINITY)
  const isOver = () => clock.monotonic() >= end
  const common = { ...stores, yielding: createYielding(clock, wait), wait, record, onProgress, isOver }
  const targets = await find(common)
  const notReached = unreached(databaseUrl, 'deliveries')
  if (dryRun) return { ...(await pass(common, targets, true)), left: undefined, unreached: notReached }
  const command = wipeMilliseconds && targets[0] && commandOf(targets[0])
  const erased = command
    ? eraseSome({ ...common, command: `"${command}"` }, targets).catch(orForbidden(command))
    : eraseSome(common, targets)
  return { ...(await erased), unreached: notReached }
}

const orForbidden =
  (command: string) =>
  (error: unknown): never => {
    if (!(error instanceof AppError) || error.code !== storeErrors.forbidden.code) throw error
    throw new AppError(purchaseErrors.eraseForbidden, { message: message('ERASE_FORBIDDEN_RUN', { command }) })
  }

/** The id of an order may be a name, or nothing that a shell takes as it is. */
const commandOf = ({ customerId, receiptId, delivery }: ErasureTarget): string =>
  delivery ? `teslim delivery erase ${receiptId}` : `teslim order erase ORDERID --customer ${customerId}`

const FOUND_AT_ONCE = 500
const SCANNED_AT_ONCE = 20_000
const BYTES_AT_ONCE = 4 * 1024 * 1024
const REFUSALS_AT_ONCE = 100

type Find = Stores & Pick<Dependencies, 'yielding'>

export async function deliveryToErase(
  { deliveries }: Pick<Find, 'deliveries'>,
  receiptId: string,
): Promise<ErasureTarget> {
  const id = readUuid(receiptId)
  const delivery = id && (await deliveries.findByReceipt(id))
  if (!delivery) throw new AppError(purchaseErrors.deliveryNotFound)
  const { customerId, orderId } = delivery
  return { customerId, orderId, receiptId: delivery.receiptId, delivery }
}

/**
 * `who` is the id or the e-mail address of the customer. Also finds an order of which there are refused bodies only, or whose state a purge
 * has removed.
 */
export async function orderToErase(dependencies: Find, who: string, orderId: string): Promise<ErasureTarget> {
  const { deliveries, refused, customers } = dependencies
  const customerId = await customerNamed(OPERATOR, who, customers)
  if (!isStorable(orderId)) throw new AppError(purchaseErrors.orderNotFound)
  const { orders } = await deliveries.orders(null, { customerId, orderId }, { limit: 1, scan: 1 })
  const newest = orders[0] ?? (await newestCutOff(dependencies, customerId, orderId))
  if (newest === undefined && (await refused.list({ customerId, orderId, limit: 1 })).length === 0)
    throw new AppError(purchaseErrors.orderNotFound)
  return { customerId, orderId, receiptId: newest?.receiptId ?? null, delivery: null }
}

async function newestCutOff(dependencies: Find, customerId: string, orderId: string) {
  for await (const [newest] of cutOff(dependencies, customerId, orderId)) if (newest !== undefined) return newest
  return undefined
}

/**
 * Overwrites payloads and senders, and removes refused bodies and attempts to push. Killed at any moment, it can be run again. The second
 * pass finds echoes that were stored meanwhile, and answers of endpoints to what was sent. Later echoes are stored erased.
 */
async function eraseSome(
  dependencies: Dependencies,
  targets: readonly ErasureTarget[],
): Promise<Omit<ErasureReport, 'unreached'>> {
  let [deliveries, refusedBodies] = [0, 0]
  const erasePass = async (): Promise<void> => {
    const erased = await pass(dependencies, targets, false)
    deliveries += erased.deliveries
    refusedBodies += erased.refusedBodies
  }
  const recordAll = async (): Promise<void> => {
    for (const { customerId, receiptId, delivery } of targets)
      await dependencies.record(delivery ? 'delivery.erase' : 'order.erase', customerId, { receiptId })
  }
  const left = await inTwoPasses(dependencies, erasePass, recordAll)
  return { deliveries, refusedBodies, left }
}

async function pass(dependencies: Dependencies, targets: readonly ErasureTarget[], dryRun: boolean): Promise<Counts> {
  const { purges, refused, yielding, onProgress } = dependencies
  let [deliveries, refusedBodies] = [0, 0]
  const refusals = new Set<string>()
  /** The same delivery may be found several times. */
  const erasable = new Set<number>()
  for (const target of targets) {
    const { customerId, delivery } = target
    const sameAs = delivery?.position ?? null
    // Before the payload is overwritten, because a small one leaves nothing to compare refused bodies with after an interruption.
    for await (const ids of refusedOf(dependencies, target)) {
      if (dryRun) for (const id of ids) refusals.add(id)
      else if (ids.length > 0) refusedBodies += await yielding(() => refused.remove(ids))
    }
    for await (const page of pagesOf(dependencies, target)) {
      for (let rest = page; rest.length > 0; ) {
        const some = withinBytes(rest, BYTES_AT_ONCE)
        rest = rest.slice(some.length)
        const scope = { customerId, positions: some.map(({ position }) => position), sameAs }
        if (dryRun) for (const position of await purges.erasable(scope)) erasable.add(position)
        else deliveries += await yielding(() => purges.eraseSome(scope))
        onProgress(deliveries + erasable.size)
      }
    }
  }
  return { deliveries: deliveries + erasable.size, refusedBodies: refusedBodies + refusals.size }
}

/**
 * Follows the history of the order, and then looks for what a purge has cut off from it. Ends at the delivery that the one to be erased
 * echoes, or at itself.
 */
async function* pagesOf(
  dependencies: Find,
  { customerId, orderId, delivery }: ErasureTarget,
): AsyncGenerator<DeliverySummary[]> {
  const { deliveries, purges, yielding } = dependencies
  if (delivery !== null) yield [{ ...delivery, payloadBytes: delivery.payload.length }]
  if (orderId === null) return
  let first: DeliverySummary | undefined
  for (let from: number | undefined; first === undefined; ) {
    const found = await yielding(() => deliveries.history(customerId, orderId, { from, limit: FOUND_AT_ONCE }))
    yield found
    first = found.find(({ position, duplicate }) => delivery && position <= delivery.position && !duplicate)
    if (found.length < FOUND_AT_ONCE) break
    from = found.at(-1)?.position
  }
  if (first !== undefined && first.position > (await purges.state()).position) return
  yield* cutOff(dependencies, customerId, orderId)
}

/** Deliveries of an order up to the last purge, which its history may have lost. */
async function* cutOff(
  { deliveries, purges, yielding }: Find,
  customerId: string,
  orderId: string,
): AsyncGenerator<DeliverySummary[]> {
  const { position: purged } = await purges.state()
  for (let position = purged + 1; position > 1; ) {
    const before = position
    const bounds = { limit: FOUND_AT_ONCE, scan: SCANNED_AT_ONCE }
    const page = await yielding(() => deliveries.before(before, { customerId, orderId }, bounds))
    yield page.deliveries
    position = page.position
  }
}

/** Refused bodies of the order; of a delivery, only those with its bytes. */
async function* refusedOf(
  { refused, yielding }: Find,
  { customerId, orderId, delivery }: ErasureTarget,
): AsyncGenerator<string[]> {
  const isSame = delivery && bytesOf(delivery)
  const filter = { customerId, ...(orderId !== null && { orderId }), limit: REFUSALS_AT_ONCE }
  for (let before: string | undefined; ; ) {
    const found: RefusedBodySummary[] = await yielding(() => refused.list({ ...filter, before }))
    const ids: string[] = []
    for (const each of found) {
      if (each.orderId !== orderId) continue
      const body = isSame && (await refused.find(each.refusalId))
      if (!isSame || (body && isSame(body.payload))) ids.push(each.refusalId)
    }
    yield ids
    if (found.length < REFUSALS_AT_ONCE) return
    before = found[0]?.refusalId
  }
}

/** Of an erased payload from 77 bytes on, the digest is left to compare with. */
const bytesOf =
  ({ erased, payload }: Delivery) =>
  (body: Uint8Array): boolean =>
    erased
      ? Buffer.from(payload).toString('latin1').trimEnd() === `{"SHA256":"${hash('sha256', body, 'hex')}"}`
      : Buffer.compare(body, payload) === 0
