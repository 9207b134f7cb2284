import { AppError } from '#src/lib/app-error.ts'
import { sharedOrNext } from '#src/lib/shared-work.ts'
import type { HeldWebhook, Webhook, WebhookStore } from '#src/store/store.ts'
import { createFailingLog, createStoreLog, type PushLog } from './failing-log.ts'
import { createLostNotice } from './lost.ts'
import { createRun, type Run, type RunDependencies, type RunState } from './run.ts'
import { createSaver } from './saver.ts'

export interface EngineDependencies
  extends Omit<RunDependencies, 'isSaving' | 'onChange' | 'onStoreFailed' | 'onPurged' | 'onLost'> {
  readonly webhooks: Pick<WebhookStore, 'claim' | 'renew' | 'release' | 'load' | 'save' | 'recordAttempt'>
  /** Names this process among those that hold leases. */
  readonly holder: string
  /** Resolves to the secrets that sign at a time. Rejects, with a message that names the endpoint, if they cannot be opened. */
  readonly openSecrets: (webhook: Webhook) => Promise<(now: number) => readonly string[]>
  readonly log: PushLog
  /** How long a stop waits for attempts under way. */
  readonly drainMilliseconds: number
}

export interface Engine {
  start(): void
  /** Begins no more attempts, waits a while for those under way, stores how far it came and gives the endpoints back. */
  stop(): Promise<void>
  /** Renews and claims leases now, and applies changes of endpoints. The engine does so every second, too. */
  look(): Promise<void>
  /** The endpoints that this process pushes to, by id. */
  states(): Map<string, RunState>
}

export const LEASE_MILLISECONDS = 6000
const TICK_MILLISECONDS = 1000
/** Endpoints claimed at once: at first few, so that replicas that start together share them. */
const FIRST_CLAIM = 2
const LARGEST_CLAIM = 32
const CLAIM_AGAIN_MILLISECONDS = 50
const MAX_CLAIMS_IN_A_TICK = 8

interface Held {
  /** Undefined while the endpoint is loaded, and if its secrets cannot be opened. */
  run: Run | undefined
  /** The version that was loaded. */
  version: number
  /** When the query began by which the lease was taken or renewed last. */
  leaseBegan: number
  /** Work on the endpoint that must come to its end first. */
  busy: boolean
  /** It was changed once more meanwhile. */
  again: boolean
}

/** Pushes to the endpoints that this process holds a lease on. */
export function createEngine(dependencies: EngineDependencies): Engine {
  const { webhooks, holder, clock, after, log } = dependencies
  const held = new Map<string, Held>()
  const failingLog = createFailingLog(log, clock)
  let stopped = false
  let cancelTick: (() => void) | undefined
  let ticking: Promise<void> | undefined
  const storeLog = createStoreLog(log, clock)
  const storeFailed = (error: unknown): void => {
    if (!stopped) storeLog.failed(error)
  }

  const lost = createLostNotice({ ...dependencies, onFailed: storeFailed, isStopped: () => stopped })
  const runs = (): Run[] => [...held.values()].flatMap(({ run }) => run ?? [])
  const saver = createSaver({
    webhooks,
    holder,
    clock,
    after,
    onRefused: (run) => drop(run),
    onFailed: storeFailed,
    onWorking() {
      for (const run of runs()) run.pump()
    },
  })
  const runDependencies: RunDependencies = {
    ...dependencies,
    isSaving: saver.isWorking,
    onChange(run) {
      if (held.get(run.id)?.run === run) saver.mark(run)
    },
    onStoreFailed: storeFailed,
    onPurged: (endpoint) =>
      log.warn(
        { endpoint },
        'a webhook endpoint was so far behind that a purge removed deliveries before they were sent',
      ),
    onLost(endpoint, isStored) {
      const run = held.get(endpoint)?.run
      if (isStored) lost.tell(endpoint)
      else if (run) drop(run)
    },
  }

  /** Ends a run whose progress counts no longer. The endpoint is loaded again, if it is still held. */
  const drop = (run: Run): void => {
    const one = held.get(run.id)
    saver.forget(run)
    lost.look(run)
    void run.stop()
    if (one?.run !== run) return
    one.run = undefined
    one.version = -1
  }

  const load = async (id: string, one: Held): Promise<void> => {
    const loaded = await webhooks.load(id)
    if (loaded === undefined || stopped || held.get(id) !== one) return
    one.version = loaded.webhook.version
    if (loaded.webhook.paused !== null) return
    try {
      const secretsAt = await dependencies.openSecrets(loaded.webhook)
      if (stopped || held.get(id) !== one) return
      one.run = createRun(loaded, secretsAt, runDependencies)
      one.run.renewed(one.leaseBegan)
    } catch (error) {
      const reason = error instanceof AppError ? error.details.reason : String(error)
      log.error({ endpoint: id, reason }, 'nothing is sent to a webhook endpoint: its secret cannot be opened')
    }
  }

  /** Lets attempts under way end and stores them. */
  const finish = async (one: Held): Promise<void> => {
    const { run } = one
    if (run === undefined) return
    await run.stop()
    await saver.flush([run])
    if (one.run === run) one.run = undefined
  }

  const change = async (id: string, one: Held, isPaused: boolean): Promise<void> => {
    if (one.busy) {
      one.again = true
      return
    }
    one.busy = true
    try {
      await finish(one)
      if (isPaused) {
        held.delete(id)
        await webhooks.release(holder, [id])
      } else if (!stopped) await load(id, one)
    } catch (error) {
      storeFailed(error)
    }
    one.busy = false
    if (!one.again) return
    one.again = false
    void look()
  }

  const hold = (id: string, leaseBegan: number): void => {
    const one: Held = held.get(id) ?? { run: undefined, version: -1, leaseBegan, busy: false, again: false }
    one.leaseBegan = leaseBegan
    held.set(id, one)
    // A lease that this process holds can be claimed if the database that knew of it is lost.
    if (one.run) lost.look(one.run)
    void change(id, one, false)
  }

  const renewed = ({ id, version, paused }: HeldWebhook, began: number): void => {
    const one = held.get(id)
    if (one === undefined) {
      hold(id, began)
      return
    }
    one.leaseBegan = began
    one.run?.renewed(began)
    if (paused || version > one.version) void change(id, one, paused)
  }

  const renew = async (): Promise<void> => {
    if (held.size === 0) return
    const began = clock.monotonic()
    const before = [...held.keys()]
    const all = await webhooks.renew(holder, LEASE_MILLISECONDS)
    if (stopped) return
    const still = new Set(all.map(({ id }) => id))
    for (const id of before) if (!still.has(id)) lose(id)
    for (const one of all) renewed(one, began)
  }

  const lose = (id: string): void => {
    const run = held.get(id)?.run
    held.delete(id)
    if (run) drop(run)
  }

  const claim = async (): Promise<void> => {
    let most = FIRST_CLAIM
    for (let round = 0; round < MAX_CLAIMS_IN_A_TICK; round++) {
      const began = clock.monotonic()
      const ids = await webhooks.claim(holder, LEASE_MILLISECONDS, most)
      if (stopped && ids.length > 0) await webhooks.release(holder, ids)
      if (stopped) return
      for (const id of ids) hold(id, began)
      if (ids.length < most) return
      most = Math.min(2 * most, LARGEST_CLAIM)
      await new Promise<void>((resolve) => void after(CLAIM_AGAIN_MILLISECONDS, resolve))
    }
  }

  const look = sharedOrNext(async (): Promise<void> => {
    if (stopped) return
    const results = await Promise.allSettled([renew(), claim()])
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined && held.size > 0) storeFailed(failed.reason)
    else if (saver.isWorking()) storeLog.works()
  })

  const tick = async (): Promise<void> => {
    await look()
    for (const run of runs()) {
      run.tick()
      failingLog.look(run.id, run)
    }
    failingLog.keep(held)
    if (!stopped) tickLater()
  }

  const tickLater = (): void => {
    cancelTick = after(TICK_MILLISECONDS, () => {
      ticking = tick()
    })
  }

  return {
    start: tickLater,
    async stop() {
      stopped = true
      cancelTick?.()
      const all = runs()
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const cancel = after(dependencies.drainMilliseconds, resolve)
      await Promise.race([Promise.all([ticking, ...all.map((run) => run.stop())]), late])
      cancel()
      try {
        await saver.flush(all)
        if (held.size > 0) await webhooks.release(holder)
      } catch (error) {
        log.warn({ err: error }, 'how far webhooks came could not be stored: some deliveries will be sent again')
      }
      held.clear()
    },
    look,
    states: () => new Map(runs().map((run) => [run.id, run.state()])),
  }
}
