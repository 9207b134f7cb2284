import { type Message, message, type Text } from '#src/lib/messages/message.ts'
import type { PurgeStore, RefusedStore } from '#src/store/store.ts'
import { giveBack, type PurgeDependencies } from './purge.rule.ts'

export interface EraseDependencies extends PurgeDependencies {
  readonly refused: RefusedStore
  readonly wait: (milliseconds: number) => Promise<void>
  readonly onProgress: (deliveries: number) => void
}

export interface Erased {
  readonly deliveries: number
  /** What an operator has to know about bytes that may still be there. */
  readonly left: Message | undefined
}

/** Copies of the data that no erasure of a customer, or of some deliveries, can reach. */
export const unreached = (databaseUrl: string, what: 'customer' | 'deliveries'): Message[] => {
  const ofCustomer = what === 'customer'
  const ofFile = ofCustomer ? [message('UNREACHED_INDEXES')] : []
  return [
    message('UNREACHED_BACKUPS'),
    message('UNREACHED_SENT'),
    message(ofCustomer ? 'UNREACHED_AUDIT' : 'UNREACHED_KEPT'),
    ...(databaseUrl.startsWith('sqlite:') ? ofFile : [message('UNREACHED_DATABASE')]),
  ]
}

const SCANNED_AT_ONCE = 500
const REFUSALS_AT_ONCE = 50
/**
 * The store refuses what is still under way. Servers of an earlier version do not: they know within a second. What a webhook has in memory is
 * not sent any more.
 */
const SETTLED_MILLISECONDS = 2_000
const WIPES = 25
/** Where time is over. */
const LATE_WIPES = 3
const WIPE_AGAIN_MILLISECONDS = 200

/** Overwrites payloads and order ids of a customer that was removed just now, also of what was refused. May be repeated. */
export async function eraseDeliveries(dependencies: EraseDependencies, customerId: string): Promise<Erased> {
  const { purges, refused, yielding, onProgress } = dependencies
  let deliveries = 0

  const eraseAfter = async (start: number): Promise<number> => {
    while (await yielding(() => purges.eraseNames(customerId)));
    while (await yielding(() => refused.erase(customerId, REFUSALS_AT_ONCE)));
    let end = start
    for (let after: number | null = start; after !== null; ) {
      end = after
      const at: number = after
      const page = await yielding(() => purges.erase(customerId, at, SCANNED_AT_ONCE))
      deliveries += page.deliveries
      onProgress(deliveries)
      after = page.position
    }
    return end
  }

  let end = 0
  const left = await inTwoPasses(dependencies, async () => {
    end = await eraseAfter(end)
  })
  return { deliveries, left }
}

/**
 * Erases, and erases again what was stored meanwhile. Announced again after each pass, so that a copy begun before it is not continued
 * after it. `begin` is done once the first announcement is.
 */
export async function inTwoPasses(
  dependencies: WipeDependencies,
  pass: () => Promise<void>,
  begin: () => Promise<void> = async () => undefined,
): Promise<Message | undefined> {
  const { purges, wait } = dependencies
  await purges.announceErasure()
  await begin()
  await pass()
  await purges.announceErasure()
  await wait(SETTLED_MILLISECONDS)
  await pass()
  await purges.announceErasure()
  return wipe(dependencies)
}

export interface WipeDependencies extends Omit<EraseDependencies, 'onProgress'> {
  /** Whether pages are left as they are from now on. */
  readonly isOver?: () => boolean
  /** What to run again, for people who have not typed it. */
  readonly command?: Text
}

const THIS_COMMAND = message('THIS_COMMAND')

/** Overwrites what an erasure left in unused parts of pages, and empties the log. Resolves to what an operator has to know if it cannot. */
async function wipe(dependencies: WipeDependencies): Promise<Message | undefined> {
  const { purges, refused, yielding, wait, isOver = () => false, command = THIS_COMMAND } = dependencies
  let after: number | null = 0
  const each = async (step: (after: number) => Promise<number | null>): Promise<void> => {
    for (after = 0; after !== null && !isOver(); ) {
      const at: number = after
      after = await yielding(() => step(at))
    }
  }
  await each((at) => purges.wipePages(at, SCANNED_AT_ONCE))
  if (after === null) await each((at) => refused.wipePages(at))
  const isWiped = after === null && !isOver()
  if (isWiped) await giveBack(dependencies, 0)
  const left = await wipeLog(purges, wait, command, isOver() ? LATE_WIPES : WIPES)
  return isWiped ? left : message('PAGES_LEFT', { command })
}

/** Empties the log beside the file. Resolves to what an operator has to know if it cannot. */
export async function wipeLog(
  purges: PurgeStore,
  wait: EraseDependencies['wait'],
  command: Text = THIS_COMMAND,
  wipes = WIPES,
): Promise<Message | undefined> {
  let reason: Text | undefined
  for (let tries = 0; tries < wipes; tries++) {
    reason = await purges.wipeLog()
    if (reason === undefined) return undefined
    await wait(WIPE_AGAIN_MILLISECONDS)
  }
  return message('LOG_LEFT', { reason: reason ?? '', command })
}
