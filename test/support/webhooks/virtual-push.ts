import type { DeliveryStore, WebhookStore } from '#src/store/store.ts'
import type { Sender } from '#src/webhook/send/sender.ts'
import { addEndpoint, isCaughtUp, pushStage, startPush } from './push.ts'

export const START = 1_900_000_000_000
export const SECOND = 1000

/** A clock whose timers ring when the test moves it. */
function virtualTime() {
  let now = 0
  const timers = new Set<{ readonly milliseconds: number; readonly dueAt: number; readonly work: () => void }>()
  return {
    clock: { now: () => START + now, monotonic: () => now },
    after(milliseconds: number, work: () => void) {
      const timer = { milliseconds, dueAt: now + milliseconds, work }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    isSet: (milliseconds: number): boolean => [...timers].some((timer) => timer.milliseconds === milliseconds),
    /** Moves the clock to the next timer, at most by so much. */
    advance(most: number): void {
      const next = [...timers].sort((one, other) => one.dueAt - other.dueAt).find(({ dueAt }) => dueAt <= now + most)
      now = Math.max(now, next?.dueAt ?? now + most)
      if (next !== undefined && timers.delete(next)) next.work()
    },
  }
}

interface Attempt {
  readonly at: number
  readonly failed: boolean
}

/** A store with one endpoint, pushed to in virtual time over connections that are refused while `setAway` says so. */
export async function pushInVirtualTime(
  changed: (webhooks: WebhookStore) => Partial<WebhookStore> = () => ({}),
  giveUpMilliseconds: number | null = null,
) {
  const { store, deliver } = await pushStage()
  const time = virtualTime()
  const attempts: Attempt[] = []
  const failure = { status: null, error: 'connection refused', retryAfterMilliseconds: null, gone: false }
  const sender: Sender = {
    async send() {
      const failed = isAway()
      attempts.push({ at: time.clock.monotonic(), failed })
      return {
        ...failure,
        error: failed ? failure.error : null,
        status: failed ? null : 200,
        milliseconds: 1,
        response: null,
      }
    },
    close: async () => undefined,
  }
  const webhooks = { ...store.webhooks, ...changed(store.webhooks) }
  const id = await addEndpoint(store, 'https://shop.example/', { giveUpMilliseconds })
  let looks = 0
  const deliveries: DeliveryStore = {
    ...store.deliveries,
    arrivals(...sent) {
      looks++
      return store.deliveries.arrivals(...sent)
    },
  }
  const push = startPush({ ...store, webhooks, deliveries }, { clock: time.clock, after: time.after, sender })
  const move = (milliseconds: number): void => {
    const end = time.clock.monotonic() + milliseconds
    while (time.clock.monotonic() < end) time.advance(end - time.clock.monotonic())
  }
  const state = { isAway: false }
  const isAway = (): boolean => state.isAway
  const world = {
    setAway(away: boolean): void {
      state.isAway = away
    },
    store,
    id,
    attempts,
    push,
    now: time.clock.monotonic,
    /** How often the store was asked whether something had come in. */
    looks: () => looks,
    deliver: (orderId: string) => deliver({ orderId, receivedAt: time.clock.now() }),
    /** Saves wait for virtual time, too. */
    async caughtUp() {
      await world.pass(SECOND)
      return isCaughtUp(store, id)
    },
    /** Moves the clock without waiting for anything. */
    move,
    /** Lets a time pass, as fast as the store keeps up with the renewals of the lease. */
    async pass(milliseconds: number, step = SECOND): Promise<void> {
      for (let passed = 0; passed < milliseconds; passed += step) {
        // The timer of the next second is set once the lease is renewed.
        while (step === SECOND && !time.isSet(SECOND)) await new Promise(setImmediate)
        move(step)
        // What was asked of the threads of the store before is answered then.
        await Promise.all([store.deliveries.payloads([]), store.webhooks.giveUp('nobody', 'none', 0, 0)])
        await new Promise(setImmediate)
      }
    },
  }
  return world
}
