import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Feed, FeedItem } from '#src/purchase/feed/feed.rule.ts'
import { LostPlace, placeAt } from '#src/purchase/feed-place.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import type { DeliveryStore, LoadedWebhook, PurgeStore, WebhookSave } from '#src/store/store.ts'
import type { Sender } from '../send/sender.ts'
import { signedHeaders } from '../send/signature.ts'
import { isWanted } from '../wanted.ts'
import { createContents } from './contents.ts'
import { laneOf, type Pushed, startOf } from './entry.ts'
import { LIMITS } from './limits.ts'
import type { Fraction, Moment } from './pauses.ts'
import { createProgress } from './progress.ts'
import type { After } from './timers.ts'

export interface RunDependencies {
  readonly feed: Feed
  readonly deliveries: Pick<DeliveryStore, 'findByReceipt'>
  readonly purges: Pick<PurgeStore, 'state'>
  readonly sender: Pick<Sender, 'send'>
  readonly bodyOf: (item: FeedItem) => Uint8Array
  readonly clock: Clock
  readonly after: After
  readonly fraction: Fraction
  /** Whether progress is being stored: what is sent while it is not would be sent again. */
  readonly isSaving: () => boolean
  readonly onChange: (run: Run) => void
  readonly onStoreFailed: (error: unknown) => void
  /** Deliveries were purged before they were sent. */
  readonly onPurged: (id: string) => void
  /** Deliveries were lost that were read, and some of them sent. `isStored`: so it is with the place that was loaded. */
  readonly onLost: (id: string, isStored: boolean) => void
  readonly count: (attempt: {
    readonly id: string
    readonly succeeded: boolean
    readonly delayMilliseconds: number
  }) => void
}

/** Pushes to one endpoint. */
export interface Run {
  readonly id: string
  readonly version: number
  /** Sends what is due, and reads on. */
  pump(): void
  /** The lease was taken or renewed by a query that began then, on the clock that never jumps. */
  renewed(began: number): void
  /** Begins no more attempts; resolves once those under way have ended. */
  stop(): Promise<void>
  /** Returns what is to be stored now, if anything is. With `everything` also what has time. */
  takeSave(everything?: boolean): WebhookSave | undefined
  putBack(save: WebhookSave): void
  /** Must be called every second. */
  tick(): void
  state(): RunState
  /** The position up to which the feed was read. */
  readTo(): number
  inTrouble(): boolean
  failingSince(): number | null
}

export interface RunState {
  readonly pending: number
  readonly behindSeconds: number
}

/** A lease is renewed every second; without it another process may hold the endpoint soon. */
const LEASE_GOOD_MILLISECONDS = 5000
const AGAIN_MILLISECONDS = 1000
/** What comes in meanwhile is read together: at a high rate each commit would else be a page of its own, with three reads. */
const TOGETHER_MILLISECONDS = 10
/** Refreshes the place of an endpoint that gets nothing, so that a purge of others' deliveries does not look like a gap. */
const LONGEST_WAIT_MILLISECONDS = 60_000
const PAGE_BYTES = 1024 * 1024
const MAX_BYTES_IN_FLIGHT = 8 * 1024 * 1024
const PURGED = 'the delivery was removed by a purge before it was sent'
const PURGED_UNREAD = 'deliveries were removed by a purge before they were sent'

export function createRun(
  { webhook, ...loaded }: LoadedWebhook,
  secretsAt: (now: number) => readonly string[],
  dependencies: RunDependencies,
): Run {
  const { feed, deliveries, purges, sender, bodyOf, clock, after, fraction } = dependencies
  const { id, version, url, ca, customerId: scope } = webhook
  const moment = (): Moment => ({ wall: clock.now(), monotonic: clock.monotonic() })
  const { start, purged } = startOf(webhook, loaded)
  const progress = createProgress(start, fraction, moment())
  const contents = createContents(deliveries)
  const stopping = new AbortController()
  const drained = Promise.withResolvers<void>()
  let leaseBegan = Number.NEGATIVE_INFINITY
  let isReading = false
  let bytesInFlight = 0
  let endWait: () => void = () => undefined
  let cancelTimer: (() => void) | undefined
  let timerAt = Number.POSITIVE_INFINITY

  const maySend = (): boolean =>
    !stopping.signal.aborted && clock.monotonic() - leaseBegan <= LEASE_GOOD_MILLISECONDS && dependencies.isSaving()

  const mayBegin = (): boolean => maySend() && bytesInFlight < MAX_BYTES_IN_FLIGHT

  const changed = (): void => dependencies.onChange(run)

  const post = async (pushed: Pushed, item: FeedItem): Promise<void> => {
    const body = bodyOf(item)
    const headers = signedHeaders(pushed.receiptId, Math.floor(clock.now() / 1000), body, secretsAt(clock.now()))
    bytesInFlight += body.length
    const outcome = await sender.send({ url, ca, headers, body })
    bytesInFlight -= body.length
    const { error, milliseconds } = outcome
    const now = moment()
    // Once nobody waits for it any more, the outcome is the next holder's.
    if (error === null) progress.succeeded(pushed, now, milliseconds)
    else progress.failed(pushed, { ...outcome, error }, now)
    dependencies.count({ id, succeeded: error === null, delayMilliseconds: now.wall - pushed.receivedAt })
  }

  const attempt = async (pushed: Pushed): Promise<void> => {
    try {
      const item = contents.fresh(pushed.position, clock.monotonic()) ?? (await contents.read(pushed))
      contents.drop(pushed.position)
      if (item === undefined) progress.purged(pushed, { at: clock.now(), error: PURGED })
      else if (maySend()) await post(pushed, item)
      else progress.postpone(pushed, clock.monotonic())
    } catch (error) {
      dependencies.onStoreFailed(error)
      progress.postpone(pushed, clock.monotonic() + AGAIN_MILLISECONDS)
    }
    changed()
    if (progress.inFlight() === 0 && stopping.signal.aborted) drained.resolve()
    pump()
  }

  /** Returns whether there may be more to read now. */
  const readPage = async (): Promise<boolean> => {
    const rest = new AbortController()
    const cancel = after(LONGEST_WAIT_MILLISECONDS, () => rest.abort())
    endWait = () => rest.abort()
    const place = progress.place()
    const query = { scope, after: place, limit: LIMITS.page, withPayload: true, mostPayloadBytes: PAGE_BYTES }
    try {
      const page = await feed.readOrWait(query, rest.signal)
      if (stopping.signal.aborted) return false
      const wanted = page.items.filter(({ delivery }) => isWanted(webhook, delivery))
      contents.keep(wanted, clock.monotonic())
      progress.read(
        wanted.map(({ delivery }) => ({ ...pick(delivery), lane: laneOf(delivery) })),
        page,
      )
      return page.items.length === LIMITS.page
    } catch (error) {
      if (error instanceof LostPlace) {
        // While it stops, the engine tells.
        if (stopping.signal.aborted) return false
        const isStored = place.position === webhook.place.position
        dependencies.onLost(id, isStored)
        // What is stored of the endpoint fits the deliveries that are stored: it is loaded again, unless that is the place.
        if (!isStored) return false
        progress.readFrom(error.lastLeft)
      } else {
        if (!(error instanceof AppError) || error.code !== purchaseErrors.cursorPurged.code) throw error
        const at = placeAt(place.position, await purges.state())
        progress.skipPurged(at, { at: clock.now(), error: PURGED_UNREAD })
        dependencies.onPurged(id)
      }
      return true
    } finally {
      cancel()
    }
  }

  const read = async (): Promise<void> => {
    if (isReading || stopping.signal.aborted || contents.isFull() || !progress.wantsMore()) return
    isReading = true
    const readOn = (): void => {
      isReading = false
      pump()
    }
    try {
      const isFull = await readPage()
      if (stopping.signal.aborted) return
      changed()
      if (isFull) return readOn()
      pump()
      after(TOGETHER_MILLISECONDS, readOn)
    } catch (error) {
      dependencies.onStoreFailed(error)
      after(AGAIN_MILLISECONDS, readOn)
    }
  }

  const setTimer = (): void => {
    const at = mayBegin() ? (progress.nextAt() ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY
    if (at === timerAt) return
    cancelTimer?.()
    cancelTimer = undefined
    timerAt = at
    if (at === Number.POSITIVE_INFINITY) return
    cancelTimer = after(Math.max(0, Math.ceil(at - clock.monotonic())), () => {
      timerAt = Number.POSITIVE_INFINITY
      pump()
    })
  }

  const pump = (): void => {
    for (let pushed: Pushed | undefined; mayBegin(); void attempt(pushed)) {
      pushed = progress.next(moment())
      if (pushed === undefined) break
    }
    if (maySend() && progress.makeRoom()) changed()
    void read()
    setTimer()
  }

  progress.forget(purged, { at: clock.now(), error: PURGED })

  const run: Run = {
    id,
    version,
    pump,
    renewed(began) {
      const wasLate = !maySend()
      leaseBegan = began
      if (wasLate) pump()
    },
    stop() {
      stopping.abort()
      endWait()
      setTimer()
      if (progress.inFlight() === 0) drained.resolve()
      return drained.promise
    },
    takeSave: (everything) => progress.takeSave(moment(), everything),
    putBack: progress.putBack,
    tick() {
      contents.dropOld(clock.monotonic())
      changed()
      pump()
    },
    state: () => ({
      pending: progress.pending(),
      behindSeconds: Math.max(0, clock.now() - (progress.oldestAt() ?? clock.now())) / 1000,
    }),
    readTo: () => progress.place().position,
    inTrouble: progress.inTrouble,
    failingSince: progress.failingSince,
  }
  return run
}

const pick = ({ position, receiptId, receivedAt }: FeedItem['delivery']) => ({ position, receiptId, receivedAt })
