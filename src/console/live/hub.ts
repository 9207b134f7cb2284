import { type Clock, isoMilliseconds } from '#src/lib/clock.ts'
import { displayNames } from '#src/lib/display-name.ts'
import type { CustomerStore, DeliveryStore } from '#src/store/store.ts'
import type { Latency } from '../recent-latency.ts'
import { countsAnswer } from './counts-answer.ts'
import type { Frame } from './live.schema.ts'
import { askRarely, countNew } from './sources.ts'
import { type Counts, createTally, MAX_NEWEST, type NewPulse, PERIOD_SECONDS } from './tally.ts'

/** Somebody who looks on. */
export interface LiveReader {
  /** The id of the operator. */
  readonly operator: string
  /** Must not wait. Returns false if the reader has not taken what it was sent before. */
  offer(frame: Frame): boolean
}

interface LiveHubDependencies {
  readonly deliveries: Pick<DeliveryStore, 'pulse' | 'origins' | 'load'>
  readonly customers: Pick<CustomerStore, 'names'>
  /** Makes readers leave whose tokens have ended. Rejects if that cannot be found out now. */
  readonly endRevoked: () => Promise<void>
  /** The version of the accounts, as `endRevoked` has read it. */
  readonly accountVersion: () => number
  readonly clock: Clock
  readonly store: 'sqlite' | 'postgres'
  readonly replicas: () => Promise<number | undefined>
  readonly backupAt: () => Promise<number | undefined>
  readonly latency: () => Latency
  /** Deliveries of the last minute that were answered with a status of 500 or more. */
  readonly failed: () => number
  /** Refused deliveries since the start of the process, by error code. */
  readonly refusals: () => ReadonlyMap<string, { readonly value: number }>
  readonly onStoreLost: (error: unknown) => void
  readonly onStoreBack: () => void
}

/** Deliveries that one read looks at. */
const MAX_LOOKED_AT = 200_000
/** A read that takes longer counts as a store that does not answer. */
const PATIENCE_MILLISECONDS = 2000

/** Reads the store for all readers at once, and makes each frame once for all that get the same: a step, or a beginning. */
export function createLiveHub(dependencies: LiveHubDependencies) {
  const { deliveries, customers, endRevoked, accountVersion, clock, latency, onStoreLost, onStoreBack } = dependencies
  /** Each with whether it has got every step so far. Who has not begins again. */
  const readers = new Map<LiveReader, boolean>()
  const tally = createTally(clock.now())
  const newRefusals = countNew(dependencies.refusals)
  const replicas = askRarely(dependencies.replicas, clock)
  const backupAt = askRarely(dependencies.backupAt, clock)
  let reading: Promise<void> | undefined
  let readingSince = 0
  let storeUp = true
  /** Whether the tally has been brought up to date since there are readers. */
  let current = false
  let accounts = -1
  /** The frame for who begins now, once somebody did. */
  let beginning: Frame | undefined

  /** Without counts it says how this process is doing. */
  const frameOf = (counts: Counts | undefined): Frame => {
    const { p50Ms, p99Ms } = latency()
    const backup = backupAt.last()
    return {
      At: isoMilliseconds(clock.now()),
      ...countsAnswer(counts),
      Latency: { P50Ms: p50Ms, P99Ms: p99Ms },
      Failed: dependencies.failed(),
      Queue: { Deliveries: deliveries.load.items(), Bytes: deliveries.load.bytes() },
      Replicas: replicas.last() ?? null,
      Store: dependencies.store,
      StoreUp: storeUp,
      BackupAt: backup === undefined ? null : isoMilliseconds(backup),
      Consoles: readers.size,
    }
  }

  const begin = (reader: LiveReader): void => {
    beginning ??= frameOf(current ? tally.beginning() : undefined)
    readers.set(reader, reader.offer(beginning) && current)
  }

  /** Sends a step to those who have all before it. */
  const publish = (step: Counts | undefined): void => {
    beginning = undefined
    const frame = step && frameOf(step)
    for (const [reader, isUpToDate] of readers) {
      if (frame !== undefined && isUpToDate) readers.set(reader, reader.offer(frame))
      else begin(reader)
    }
  }

  /** The pulse of the store, in which the newest deliveries have origins and customers. */
  const nextPulse = async (): Promise<NewPulse> => {
    const from = clock.now() - PERIOD_SECONDS * 1000
    const pulse = await deliveries.pulse(tally.position(), { from, look: MAX_LOOKED_AT, newest: MAX_NEWEST })
    if (pulse.newest.length === 0) return pulse
    const [origins, names] = await Promise.all([
      deliveries.origins(pulse.newest.map(({ position }) => position)),
      customers.names([...new Set(pulse.newest.map(({ customerId }) => customerId))]).then(displayNames),
    ])
    const newest = pulse.newest.map((each) => ({
      ...each,
      origin: origins.get(each.position),
      customer: names.get(each.customerId),
    }))
    return { ...pulse, newest }
  }

  const step = (pulse?: NewPulse): void => publish(tally.add(pulse, newRefusals(), clock.now()))

  const lose = (error: unknown): void => {
    if (storeUp) onStoreLost(error)
    storeUp = false
    step()
  }

  const read = async (): Promise<void> => {
    try {
      await endRevoked()
      if (accountVersion() !== accounts) tally.forgetNewest()
      accounts = accountVersion()
      const [pulse] = await Promise.all([nextPulse(), replicas.refresh(), backupAt.refresh()])
      if (!storeUp) onStoreBack()
      storeUp = true
      current = readers.size > 0
      step(pulse)
    } catch (error) {
      lose(error)
    }
  }

  const leave = (reader: LiveReader): void => {
    readers.delete(reader)
    if (readers.size === 0) current = false
  }

  return {
    /** Returns a function that removes the reader. */
    join(reader: LiveReader): () => void {
      readers.set(reader, false)
      if (current) begin(reader)
      return () => leave(reader)
    },
    /** Reads what is new and sends it; counts only what was refused if there are no readers. Must be called once a second. */
    async tick(): Promise<void> {
      if (readers.size === 0) {
        tally.add(undefined, newRefusals(), clock.now())
        return
      }
      if (reading === undefined) {
        readingSince = clock.monotonic()
        reading = read().finally(() => {
          reading = undefined
        })
      } else if (clock.monotonic() - readingSince >= PATIENCE_MILLISECONDS) {
        lose(new Error('the store takes too long to answer'))
      }
      await reading
    },
    /** Whether a reader that joins now is served at once, without a tick. */
    isCurrent: (): boolean => current,
    readers: (): number => readers.size,
    readersOf: (operator: string): number =>
      readers.keys().reduce((sum, reader) => sum + Number(reader.operator === operator), 0),
  }
}
