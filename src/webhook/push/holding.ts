import { reasonOf } from '#src/lib/app-error.ts'
import type { Log } from '#src/lib/log/logger.ts'
import { sharedOrNext } from '#src/lib/shared-work.ts'
import type { HeldWebhook, Webhook, WebhookStore } from '#src/store/store.ts'
import type { EndpointSecrets } from '../webhook-secrets.ts'
import { createEndpoint, type Endpoint, type EndpointDependencies } from './endpoint.ts'
import { createFailingLog, createLostNotice, createStoreLog, type LostDependencies } from './push-log.ts'
import { createSaver } from './saver.ts'

export interface HoldingDependencies
  extends Omit<EndpointDependencies, 'canSave' | 'onChange' | 'onStoreFailed' | 'onLost'>,
    Pick<LostDependencies, 'purges'> {
  readonly webhooks: EndpointDependencies['webhooks'] &
    Pick<WebhookStore, 'any' | 'hold' | 'release' | 'load' | 'save' | 'tidy' | 'recordAttempt'>
  /** Rejects, with a message that names the endpoint, if a secret cannot be opened. */
  readonly openSecrets: (webhook: Webhook) => Promise<EndpointSecrets>
  readonly log: Log
  /** How long a stop waits for attempts under way. */
  readonly drainMilliseconds: number
}

export type Holding = ReturnType<typeof createHolding>

const LEASE_MILLISECONDS = 6000
const TICK_MILLISECONDS = 1000
/** Endpoints taken at once: at first few, so that replicas that start together share them. */
const FIRST_TAKEN = 2
const MAX_TAKEN = 32
const AGAIN_MILLISECONDS = 50
const MAX_TIMES_IN_A_TICK = 8
const TIDY_MILLISECONDS = 60_000

interface Held {
  /** Undefined while it is loaded, and if its secrets cannot be opened. */
  endpoint: Endpoint | undefined
  /** The version that was loaded. */
  version: number
  /** When the query began by which the lease was taken or renewed last. */
  leaseBegan: number
  /** It is being stopped or loaded. */
  isBusy: boolean
  /** It was stopped, and is given back before this process asks again what it holds: an older answer might else take it for its own. */
  isLeft: boolean
  /** Resolves once the attempts have ended that were under way when it was dropped. */
  ended: Promise<void>
}

/** Pushes to the endpoints that this process holds. */
export function createHolding(dependencies: HoldingDependencies) {
  const { webhooks, holder, clock, after, log, payloads } = dependencies
  const held = new Map<string, Held>()
  const failingLog = createFailingLog(log, clock)
  const storeLog = createStoreLog(log, clock)
  let stopped = false
  let cancelTick: (() => void) | undefined
  let ticking: Promise<void> | undefined
  let tidying: Promise<void> | undefined
  let tidiedAt = clock.monotonic()
  let areThere = false
  const storeFailed = (error: unknown): void => {
    if (!stopped) storeLog.failed(error)
  }

  const lost = createLostNotice({ ...dependencies, onFailed: storeFailed, isStopped: () => stopped })
  const endpoints = (): Endpoint[] => [...held.values()].flatMap(({ endpoint }) => endpoint ?? [])
  const saver = createSaver({
    webhooks,
    holder,
    clock,
    after,
    onRefused: (endpoint) => drop(endpoint),
    onFailed: storeFailed,
    onWorking() {
      for (const endpoint of endpoints()) endpoint.pump()
    },
  })
  const ofEndpoints: EndpointDependencies = {
    ...dependencies,
    canSave: saver.canSave,
    onChange(endpoint) {
      if (held.get(endpoint.id)?.endpoint === endpoint) saver.mark(endpoint)
    },
    onStoreFailed: storeFailed,
    onLost(endpoint, isStored) {
      if (isStored) lost.tell(endpoint.id)
      else drop(endpoint)
    },
  }

  /** Ends pushing to an endpoint whose progress in memory counts no longer. It is loaded again, if it is still held. */
  const drop = (endpoint: Endpoint): void => {
    const one = held.get(endpoint.id)
    saver.forget(endpoint)
    lost.look(endpoint)
    const ended = endpoint.stop()
    if (one?.endpoint !== endpoint) return
    one.ended = ended
    one.endpoint = undefined
    one.version = -1
  }

  const load = async (id: string, one: Held): Promise<void> => {
    const loaded = await webhooks.load(id)
    if (loaded === undefined || stopped || held.get(id) !== one) return
    one.version = loaded.webhook.version
    if (loaded.webhook.paused !== null) return
    try {
      const secrets = await dependencies.openSecrets(loaded.webhook)
      if (stopped || held.get(id) !== one) return
      one.endpoint = createEndpoint(loaded, secrets, ofEndpoints)
      one.endpoint.renewed(one.leaseBegan)
    } catch (error) {
      log.error(
        { endpoint: id, reason: reasonOf(error) },
        'nothing is sent to a webhook endpoint: its secret cannot be opened',
      )
    }
  }

  /** Lets attempts under way end and stores them, and then loads the endpoint, or gives it back. */
  const change = async (id: string, one: Held, isKept: boolean): Promise<void> => {
    if (one.isBusy || one.isLeft) return
    one.isBusy = true
    const { endpoint } = one
    try {
      await (endpoint?.stop() ?? one.ended)
      // A save under way may have what was dropped.
      await saver.flush(endpoint === undefined ? [] : [endpoint])
      if (one.endpoint === endpoint) one.endpoint = undefined
      if (!isKept) one.isLeft = true
      else if (!stopped) await load(id, one)
    } catch (error) {
      storeFailed(error)
    }
    one.isBusy = false
  }

  const apply = ({ id, version, paused, isNew }: HeldWebhook, began: number): void => {
    const fresh = { endpoint: undefined, version: -1, leaseBegan: began, isBusy: false, isLeft: false }
    const one = held.get(id) ?? { ...fresh, ended: Promise.resolve() }
    one.leaseBegan = began
    held.set(id, one)
    // Another process may have held it meanwhile. The database that knew of the lease may also be lost.
    if (isNew && one.endpoint) drop(one.endpoint)
    one.endpoint?.renewed(began)
    if (paused || version > one.version) void change(id, one, !paused)
  }

  const giveBack = async (): Promise<void> => {
    const left = [...held].filter(([, { isLeft }]) => isLeft).map(([id]) => id)
    if (left.length === 0) return
    await webhooks.release(holder, left)
    for (const id of left) held.delete(id)
  }

  /** Resolves to how many endpoints are new. */
  const hold = async (limit: number): Promise<number> => {
    await giveBack()
    areThere = held.size > 0 || (await webhooks.any())
    if (!areThere) return 0
    const began = clock.monotonic()
    const before = new Map(held)
    const all = await webhooks.hold(holder, LEASE_MILLISECONDS, limit)
    if (stopped) {
      if (all.some(({ isNew }) => isNew)) await webhooks.release(holder)
      return 0
    }
    const ids = new Set(all.map(({ id }) => id))
    for (const [id, one] of before) if (!ids.has(id)) void change(id, one, false)
    for (const each of all) apply(each, began)
    return all.filter(({ isNew }) => isNew).length
  }

  const look = sharedOrNext(async (): Promise<void> => {
    let limit = FIRST_TAKEN
    try {
      for (let times = 0; !stopped && times < MAX_TIMES_IN_A_TICK; times++) {
        if ((await hold(limit)) < limit) break
        limit = Math.min(2 * limit, MAX_TAKEN)
        await new Promise<void>((resolve) => void after(AGAIN_MILLISECONDS, resolve))
      }
      if (saver.canSave()) storeLog.works()
    } catch (error) {
      if (held.size > 0) storeFailed(error)
    }
  })

  /** Removes what is too old, also of endpoints that get nothing. Without endpoints there is nothing, and the writer may sleep. */
  const tidy = (): void => {
    if (!areThere || tidying !== undefined || clock.monotonic() - tidiedAt < TIDY_MILLISECONDS) return
    tidiedAt = clock.monotonic()
    const done = (): void => {
      tidying = undefined
    }
    tidying = webhooks.tidy(clock.now()).catch(storeFailed).finally(done)
  }

  const tick = async (): Promise<void> => {
    await look()
    tidy()
    payloads.dropOld()
    for (const endpoint of endpoints()) {
      endpoint.tick()
      failingLog.look(endpoint.id, endpoint)
    }
    failingLog.keep(held)
    if (stopped) return
    cancelTick = after(TICK_MILLISECONDS, () => {
      ticking = tick()
    })
  }

  return {
    start() {
      ticking = tick()
    },
    /** Begins no more attempts, waits a while for those under way, stores how far it came and gives the endpoints back. */
    async stop() {
      stopped = true
      cancelTick?.()
      const all = endpoints()
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const cancel = after(dependencies.drainMilliseconds, resolve)
      await Promise.race([Promise.all([ticking, tidying, ...all.map((endpoint) => endpoint.stop())]), late])
      cancel()
      try {
        await saver.flush(all)
        if (held.size > 0) await webhooks.release(holder)
      } catch (error) {
        log.warn({ err: error }, 'how far webhooks came could not be stored: some deliveries will be sent again')
      }
      held.clear()
    },
    /** Asks now which endpoints this process holds, and applies changes of them. It does so every second, too. */
    look,
    /** The endpoints that this process pushes to. */
    endpoints,
  }
}
