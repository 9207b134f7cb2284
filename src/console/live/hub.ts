import type { Clock } from '#src/lib/clock.ts'
import { oneByOne, sharedWork } from '#src/lib/shared-work.ts'
import type { DeliveryStore, PulseBounds } from '#src/store/store.ts'
import type { Latency } from '../recent-latency.ts'
import { type LiveAnswer, type LiveState, liveAnswer } from './live-answer.ts'
import { askRarely, countNew } from './sources.ts'
import { createTally, MAX_NEWEST, PERIOD_SECONDS } from './tally.ts'

export interface LiveFrame {
  /** The newest position; undefined while the store has not been read. */
  readonly id: string | undefined
  readonly answer: LiveAnswer
}

/** Somebody who looks on. */
export interface LiveReader {
  /** The id of the operator. */
  readonly operator: string
  /** Must not wait. Returns false if the reader has not taken what it was sent before. */
  offer(frame: LiveFrame): boolean
}

interface LiveHubDependencies {
  readonly deliveries: Pick<DeliveryStore, 'pulse' | 'origins' | 'load'>
  /** Makes readers leave whose tokens have ended. Rejects if that cannot be found out now. */
  readonly endRevoked: () => Promise<void>
  /** The version of the accounts, as `endRevoked` has read it. */
  readonly accountVersion: () => number
  readonly clock: Clock
  readonly store: 'sqlite' | 'postgres'
  readonly replicas: () => Promise<number | undefined>
  readonly backupAt: () => Promise<number | undefined>
  readonly latency: () => Latency
  /** Refused deliveries since the start of the process, by error code. */
  readonly refusals: () => ReadonlyMap<string, { readonly value: number }>
  readonly onStoreLost: (error: unknown) => void
  readonly onStoreBack: () => void
}

interface LiveHub {
  /** `position` is where the reader stopped reading before. Returns a function that removes the reader. */
  join(reader: LiveReader, position: number | undefined): () => void
  /** Reads what is new and sends it. Must be called once a second while there are readers. */
  tick(): Promise<void>
  /** Whether a reader that joins now is served at once, without a tick. */
  isCurrent(): boolean
  readers(): number
  readersOf(operator: string): number
}

/** Deliveries that one read looks at. */
const MAX_LOOKED_AT = 200_000
/** A read that takes longer counts as a store that does not answer. */
const PATIENCE_MILLISECONDS = 2000

interface Joined {
  /** Where it stopped reading before; undefined if it is to begin. */
  position: number | undefined
  /** The last step that it has got; undefined before its first one. */
  seen: number | undefined
  catchingUp: boolean
}

/** Reads the store for all readers at once, and makes the text of a frame once for all that get the same. */
export function createLiveHub(dependencies: LiveHubDependencies): LiveHub {
  const { deliveries, endRevoked, accountVersion, clock, latency, onStoreLost, onStoreBack } = dependencies
  const readers = new Map<LiveReader, Joined>()
  const tally = createTally()
  const newRefusals = countNew(dependencies.refusals)
  const replicas = askRarely(dependencies.replicas, clock)
  const backupAt = askRarely(dependencies.backupAt, clock)
  let reading: Promise<void> | undefined
  let readingSince = 0
  let storeUp = true
  /** Whether the tally has been brought up to date since there are readers. */
  let current = false
  let accounts = -1
  let state: LiveState | undefined
  /** Frames of this step, by the step after which they begin. */
  const frames = new Map<number | 'beginning' | 'state', LiveFrame>()

  /** Returns the frame for everybody who has seen the same, or undefined if the steps since then are not known any more. */
  const frameFor = (seen: number | 'beginning' | 'state'): LiveFrame | undefined => {
    const known = frames.get(seen)
    if (known !== undefined) return known
    const counts = seen === 'state' ? undefined : seen === 'beginning' ? tally.beginning() : tally.after(seen)
    if (counts === undefined && seen !== 'state') return undefined
    state ??= stateNow()
    // Without counts there is no id: the reader must not go on from here.
    const frame = { id: counts && String(tally.position()), answer: liveAnswer(state, counts) }
    frames.set(seen, frame)
    return frame
  }

  const stateNow = (): LiveState => ({
    at: clock.now(),
    latency: latency(),
    queue: { deliveries: deliveries.load.items(), bytes: deliveries.load.bytes() },
    replicas: replicas.last(),
    store: dependencies.store,
    storeUp,
    backupAt: backupAt.last(),
    consoles: readers.size,
  })

  /** Sends a reader what it has not got yet, if it can take it. */
  const serve = (reader: LiveReader, joined: Joined): void => {
    if (joined.catchingUp) return
    const { position } = joined
    const newest = tally.position()
    if (!current || newest === undefined) {
      offer(reader, frameFor('state'))
      return
    }
    joined.seen ??= position === undefined ? undefined : tally.stepAt(position)
    const missed = position === undefined ? 0 : newest - position
    if (joined.seen === undefined && position !== undefined && missed > 0 && missed <= MAX_LOOKED_AT) {
      void catchUp(reader, joined, position)
      return
    }
    const frame = (joined.seen === undefined ? undefined : frameFor(joined.seen)) ?? frameFor('beginning')
    if (offer(reader, frame)) joined.seen = tally.number()
  }

  const offer = (reader: LiveReader, frame: LiveFrame | undefined): boolean =>
    frame !== undefined && reader.offer(frame)

  /** Reads for a reader that comes from another process, or from long ago. */
  const catchUp = async (reader: LiveReader, joined: Joined, position: number): Promise<void> => {
    joined.catchingUp = true
    try {
      const missed = await missedSince(position)
      if (readers.get(reader) !== joined) return
      if (missed === undefined) joined.position = undefined
      else if (reader.offer(missed.frame)) joined.seen = missed.step
    } catch (error) {
      lose(error)
    }
    joined.catchingUp = false
    // What is too far back is not counted: the reader begins.
    if (joined.position === undefined) serve(reader, joined)
  }

  /** Readers that stopped at the same position share the work. They may name any position, so no two are read at once. */
  const missedSince = sharedWork(
    oneByOne(async (position: number): Promise<{ readonly frame: LiveFrame; readonly step: number } | undefined> => {
      const [until, step] = [tally.position(), tally.number()]
      const isWanted = [...readers.values()].some((each) => each.catchingUp && each.position === position)
      if (!isWanted || until === undefined) return undefined
      const pulse = await pulseAfter(position, { ...bounds(), until })
      if (pulse.since !== undefined) return undefined
      const { seconds, newest } = pulse
      const missed = { seconds, newest, skipped: pulse.deliveries - newest.length, refusals: {} }
      return { frame: { id: String(until), answer: liveAnswer(stateNow(), missed) }, step }
    }),
    String,
  )

  /** The pulse of the store, in which the newest deliveries have their origins. */
  const pulseAfter = async (position: number | undefined, bounds: PulseBounds) => {
    const pulse = await deliveries.pulse(position, bounds)
    if (pulse.newest.length === 0) return pulse
    const origins = await deliveries.origins(pulse.newest.map((each) => each.position))
    return { ...pulse, newest: pulse.newest.map((each) => ({ ...each, origin: origins.get(each.position) })) }
  }

  const bounds = () => ({
    from: clock.now() - PERIOD_SECONDS * 1000,
    look: MAX_LOOKED_AT,
    newest: MAX_NEWEST,
  })

  const publish = (): void => {
    frames.clear()
    state = undefined
    for (const [reader, joined] of readers) serve(reader, joined)
  }

  const lose = (error: unknown): void => {
    if (storeUp) onStoreLost(error)
    storeUp = false
  }

  const read = async (): Promise<void> => {
    try {
      await endRevoked()
      if (accountVersion() !== accounts) tally.forgetNewest()
      accounts = accountVersion()
      const [pulse] = await Promise.all([
        pulseAfter(tally.position(), bounds()),
        replicas.refresh(),
        backupAt.refresh(),
      ])
      tally.add(pulse, newRefusals(), clock.now())
      if (!storeUp) onStoreBack()
      storeUp = true
      current = readers.size > 0
    } catch (error) {
      lose(error)
      tally.add(undefined, newRefusals(), clock.now())
    }
    reading = undefined
    publish()
  }

  const leave = (reader: LiveReader): void => {
    readers.delete(reader)
    if (readers.size === 0) current = false
  }

  return {
    join(reader, position) {
      const joined = { position, seen: undefined, catchingUp: false }
      readers.set(reader, joined)
      if (current) serve(reader, joined)
      return () => leave(reader)
    },
    async tick() {
      if (readers.size === 0) return
      if (reading === undefined) {
        readingSince = clock.monotonic()
        reading = read().catch(lose)
      } else if (clock.monotonic() - readingSince >= PATIENCE_MILLISECONDS) {
        lose(new Error('the store takes too long to answer'))
        tally.add(undefined, newRefusals(), clock.now())
        publish()
      }
      await reading
    },
    isCurrent: () => current,
    readers: () => readers.size,
    readersOf: (operator) => readers.keys().reduce((sum, reader) => sum + Number(reader.operator === operator), 0),
  }
}
