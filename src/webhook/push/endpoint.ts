import { sharedWork } from '#src/lib/shared-work.ts'
import type { Arrivals } from '#src/purchase/feed/arrivals.ts'
import { isWanted, type LoadedWebhook, type WebhookStore } from '#src/store/store.ts'
import type { Sender } from '../send/sender.ts'
import { signedHeaders } from '../send/signature.ts'
import type { EndpointSecrets } from '../webhook-secrets.ts'
import type { Fraction, Moment } from './breaker.ts'
import type { Save } from './changes.ts'
import { type Item, itemOf } from './lanes.ts'
import type { Payloads } from './payloads.ts'
import { createQueue } from './queue.ts'
import { type ReplayDependencies, workOff } from './replays.ts'

export interface EndpointDependencies extends ReplayDependencies {
  readonly arrivals: Arrivals
  readonly payloads: Payloads
  readonly webhooks: Pick<WebhookStore, 'held' | 'due' | 'giveUp' | 'addReplayed'>
  readonly sender: Pick<Sender, 'send'>
  readonly fraction: Fraction
  readonly onChange: (endpoint: Endpoint) => void
  /** Deliveries were lost that were read, and some of them sent. `isStored`: so it is with the place that was loaded. */
  readonly onLost: (endpoint: Endpoint, isStored: boolean) => void
  readonly count: (id: string, succeeded: boolean, delayMilliseconds: number) => void
}

export type Endpoint = ReturnType<typeof createEndpoint>

/** A lease is renewed every second; without it another process may hold the endpoint soon. */
const LEASE_GOOD_MILLISECONDS = 5000
const AGAIN_MILLISECONDS = 1000
/** What comes in meanwhile is read together: at a high rate each commit would else be a page of its own, with three reads. */
const TOGETHER_MILLISECONDS = 8
/** From one page that had something to the next. */
const FREQUENT_MILLISECONDS = 20
/** Moves the place of an endpoint that gets nothing, so that a restart does not look through what others got. */
const MAX_WAIT_MILLISECONDS = 60_000

/** Pushes to one endpoint. */
export function createEndpoint(loaded: LoadedWebhook, secrets: EndpointSecrets, dependencies: EndpointDependencies) {
  const { arrivals, payloads, webhooks, sender, clock, after, canSave } = dependencies
  const { webhook } = loaded
  const { id, version, url, ca, customerId: scope, giveUpMilliseconds } = webhook
  const moment = (): Moment => ({ wall: clock.now(), monotonic: clock.monotonic() })
  const queue = createQueue(loaded, dependencies.fraction)
  const drained = Promise.withResolvers<void>()
  let stopped = false
  let leaseBegan = Number.NEGATIVE_INFINITY
  let failingSince: number | null = null
  let bytesUnderWay = 0
  let isFetching = false
  /** From where there may be deliveries to read; undefined while nothing has arrived. */
  let readFrom: number | undefined = webhook.position
  let waitsSince = 0
  /** When a page was read that had something. */
  let pagedAt = Number.NEGATIVE_INFINITY
  let endWait: () => void = () => undefined
  let cancelTimer: () => void = () => undefined
  let timerAt = Number.POSITIVE_INFINITY

  const isStopped = (): boolean => stopped
  const maySend = (): boolean => !isStopped() && clock.monotonic() - leaseBegan <= LEASE_GOOD_MILLISECONDS && canSave()

  const post = async (sent: Item, body: Uint8Array): Promise<void> => {
    const signing = secrets.signing(clock.now())
    const signed = signedHeaders(sent.receiptId ?? '', Math.floor(clock.now() / 1000), body, signing)
    const headers = { ...secrets.headers, ...signed }
    bytesUnderWay += body.length
    payloads.count(body.length)
    const outcome = await sender.send({ url, ca, headers, body })
    bytesUnderWay -= body.length
    payloads.count(-body.length)
    const { error, status } = outcome
    const milliseconds = Math.round(outcome.milliseconds)
    const now = moment()
    failingSince = error === null ? null : (failingSince ?? now.wall)
    if (error === null) queue.succeeded(sent, now, status ?? 0, milliseconds)
    else queue.failed(sent, { ...outcome, error, milliseconds }, now)
    dependencies.count(id, error === null, now.wall - (sent.receivedAt ?? now.wall))
  }

  const attempt = async (sent: Item): Promise<void> => {
    try {
      const body =
        payloads.fresh(sent.position) ?? (sent.receiptId === null ? undefined : await payloads.read(sent.receiptId))
      if (body === undefined) queue.purged(sent)
      else if (maySend()) await post(sent, body)
      else queue.postpone(sent, clock.monotonic())
    } catch (error) {
      dependencies.onStoreFailed(error)
      queue.postpone(sent, clock.monotonic() + AGAIN_MILLISECONDS)
    }
    dependencies.onChange(endpoint)
    if (queue.inFlight() === 0 && isStopped()) drained.resolve()
    pump()
  }

  const awaitArrivals = (): void => {
    const wait = arrivals.wait(scope, queue.readTo())
    waitsSince = clock.monotonic()
    endWait = wait.end
    void wait.over.then((from) => {
      readFrom = from
      pump()
    })
  }

  /** Resolves to whether what is next may be read at once. */
  const readPage = async (from: number, known: number): Promise<boolean> => {
    const place = queue.readTo()
    const { deliveries, end, hasMore, lastLeft } = await payloads.page(scope, place, from)
    if (isStopped()) return false
    if (lastLeft !== undefined) {
      // What is stored of the endpoint fits the deliveries that are stored: it is loaded again, unless that is the place.
      const isStored = place === webhook.position
      if (isStored) queue.readFrom(lastLeft)
      readFrom = lastLeft
      dependencies.onLost(endpoint, isStored)
      return true
    }
    const items = deliveries.filter((delivery) => isWanted(webhook, delivery)).map(itemOf)
    const held = items.length > 0 && queue.mayBeHeld() ? await webhooks.held(id, items) : []
    if (isStopped()) return false
    queue.read(items, end, new Set(held), known)
    // At a high rate there is more after a rest, and nobody needs to ask whether there is.
    const isFrequent = deliveries.length > 0 && clock.monotonic() - pagedAt < FREQUENT_MILLISECONDS
    if (deliveries.length > 0) pagedAt = clock.monotonic()
    readFrom = hasMore || isFrequent ? end : undefined
    if (readFrom === undefined) awaitArrivals()
    return hasMore
  }

  const giveUp = sharedWork(async (): Promise<void> => {
    const now = moment()
    if (isStopped() || giveUpMilliseconds === null || !queue.mayBeHeld()) return
    queue.giveUp(now)
    try {
      const count = await webhooks.giveUp(dependencies.holder, id, now.wall - giveUpMilliseconds, now.wall)
      if (count > 0) queue.gaveUp()
    } catch (error) {
      dependencies.onStoreFailed(error)
    }
  })

  const isDue = (): boolean => queue.wantsDueAt() <= clock.monotonic()
  const pageFrom = (): number | undefined => (readFrom !== undefined && queue.wantsPage() ? readFrom : undefined)

  /** Asks the store for what is due and what is new. One question at a time, so that it is clear what each answer knows. */
  const fetch = async (): Promise<void> => {
    isFetching = true
    const known = queue.stored()
    let rest = AGAIN_MILLISECONDS
    try {
      if (isDue() && !isStopped()) {
        const { deliveries, nextAt } = await webhooks.due(id, clock.now(), queue.askDue())
        queue.due(deliveries, nextAt, known, moment())
        pump()
      }
      const from = pageFrom()
      const goesOn = from === undefined || isStopped() || (await readPage(from, known))
      queue.known(known)
      rest = goesOn ? 0 : TOGETHER_MILLISECONDS
    } catch (error) {
      dependencies.onStoreFailed(error)
      queue.mayBeDue(0)
    }
    dependencies.onChange(endpoint)
    if (rest > 0) {
      pump()
      await new Promise<void>((resolve) => void after(rest, resolve))
    }
    isFetching = false
    pump()
  }

  const setTimer = (): void => {
    const now = clock.monotonic()
    const wakesAt = Math.ceil(queue.wakesAt())
    // What is later, the next tick sees.
    const at = maySend() && wakesAt > now && wakesAt - now <= AGAIN_MILLISECONDS ? wakesAt : Number.POSITIVE_INFINITY
    if (at === timerAt) return
    cancelTimer()
    timerAt = at
    if (at < Number.POSITIVE_INFINITY)
      cancelTimer = after(Math.ceil(at - now), () => {
        timerAt = Number.POSITIVE_INFINITY
        pump()
      })
  }

  /** Sends what is due, and asks for more. */
  const pump = (): void => {
    while (maySend() && payloads.hasRoom(bytesUnderWay)) {
      const sent = queue.next(moment())
      if (sent === undefined) break
      void attempt(sent)
    }
    if (maySend()) queue.makeRoom()
    if (!isFetching && !isStopped() && (isDue() || pageFrom() !== undefined)) void fetch()
    setTimer()
  }

  const endpoint = {
    id,
    version,
    readTo: queue.readTo,
    isSilent: queue.isSilent,
    /** Since when, without a success, attempts have failed. */
    failingSince: (): number | null => failingSince,
    pump,
    /** The lease was taken or renewed by a query that began then, on the clock that never jumps. */
    renewed(began: number): void {
      leaseBegan = began
      pump()
    },
    /** Begins no more attempts; resolves once those under way have ended. */
    stop(): Promise<void> {
      stopped = true
      endWait()
      setTimer()
      if (queue.inFlight() === 0) drained.resolve()
      return drained.promise
    },
    /** Returns what is to be stored now, if anything is. With `everything` also what has time. */
    take: (everything: boolean): Save | undefined => queue.take(moment(), everything),
    wasStored(save: Save): void {
      queue.wasStored(save, moment())
      pump()
    },
    putBack: queue.putBack,
    /** Must be called every second. */
    tick(): void {
      void giveUp()
      if (readFrom === undefined && clock.monotonic() - waitsSince >= MAX_WAIT_MILLISECONDS) endWait()
      dependencies.onChange(endpoint)
      pump()
    },
    /** What is not stored as waiting. */
    state() {
      const open = queue.open()
      return { pending: open.length, oldestAt: Math.min(...open.map(({ receivedAt }) => receivedAt ?? Infinity)) }
    },
  }

  void workOff(webhook, dependencies, isStopped, () => {
    queue.mayBeDue(0)
    pump()
  })
  return endpoint
}
