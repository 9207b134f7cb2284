import { customerErrors } from '#src/customer/customer.errors.ts'
import { isRemoved } from '#src/customer/customer.rule.ts'
import { findCustomer } from '#src/customer/find-customer.ts'
import { AppError } from '#src/lib/app-error.ts'
import { type Clock, isoMilliseconds, toSeconds } from '#src/lib/clock.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import { newId, type Random, readUuid } from '#src/lib/random.ts'
import { sharedOrNext } from '#src/lib/shared-work.ts'
import type { Cursors } from '#src/purchase/cursors.ts'
import type { NamedDelivery, Store, WaitingDelivery, Webhook, WebhookAttempt, WebhookChange } from '#src/store/store.ts'
import type { Outcome } from '../send/outcome.ts'
import type { Sending } from '../send/sender.ts'
import { generateSecret, signedHeaders } from '../send/signature.ts'
import { webhookErrors } from '../webhook.errors.ts'
import type { WebhookSecrets } from '../webhook-secrets.ts'
import { readAuthority } from './authority.ts'
import { type Begin, createBegin } from './begin.ts'
import { createChosen } from './chosen.ts'
import { createDescribe, type DescribedEndpoint } from './describe.ts'
import { createFates, type Told } from './fates.ts'
import { nextTryOf } from './progress.ts'
import { createReplays, type Replayed } from './replays.ts'
import { createSet, inOrder } from './set.ts'

export interface EndpointsDependencies {
  readonly store: Pick<Store, 'webhooks' | 'deliveries' | 'customers' | 'purges'>
  readonly cursors: Cursors
  readonly secrets: WebhookSecrets
  readonly clock: Clock
  readonly random: Random
  /** Returns the URL as it is used; throws for one that is not valid, or not allowed. */
  readonly checkUrl: (url: string) => Promise<string>
  readonly send: (sending: Sending) => Promise<Outcome>
}

export interface NewEndpoint {
  readonly url: string
  /** E-mail address or id; all customers if it is undefined. */
  readonly customer?: string | undefined
  readonly statuses?: readonly number[] | undefined
  readonly duplicates?: boolean | undefined
  readonly begin?: Begin | undefined
  readonly giveUpMilliseconds?: number | undefined
  /** Certificates in PEM. */
  readonly ca?: string | undefined
}

/** An endpoint with its secret, which is shown only once. */
export interface WithSecret {
  readonly endpoint: DescribedEndpoint
  readonly secret: string
}

export interface ShownEndpoint {
  readonly endpoint: DescribedEndpoint
  readonly failing: readonly ShownDelivery[]
  readonly setAside: readonly (ShownDelivery & { readonly setAsideAt: number })[]
}

type ShownDelivery = WaitingDelivery & NamedDelivery

export type Endpoints = ReturnType<typeof createEndpoints>
export type ShownAttempts = Awaited<ReturnType<Endpoints['attempts']>>

const MAX_ENDPOINTS = 1_000
const MAX_SHOWN = 100
const MAX_ATTEMPTS = 500
/** Concurrent changes are rare: losing more often than this means a defect. */
const MAX_TRIES = 10

/** The operators' actions on endpoints. */
export function createEndpoints(dependencies: EndpointsDependencies) {
  const { store, cursors, secrets, clock, random, checkUrl, send } = dependencies
  const { webhooks } = store
  const places = createBegin(store, cursors)
  const chosen = createChosen(store)
  const replays = createReplays(store, clock, places, chosen)
  const tellFates = createFates(store, clock, chosen)
  const describeAll = createDescribe(store, cursors, clock)

  const describe = async (webhook: Webhook): Promise<DescribedEndpoint> =>
    (await describeAll([webhook]))[0] as DescribedEndpoint

  const find = async (id: string): Promise<Webhook> => {
    const known = readUuid(id)
    return (known === undefined ? undefined : await webhooks.find(known)) ?? notFound(id)
  }

  const change = async ({ id }: Webhook, changes: WebhookChange): Promise<Webhook> =>
    (await webhooks.change(id, changes)) ?? notFound(id)

  const customerOf = async (who: string): Promise<string> => {
    const found = await findCustomer(store.customers, who)
    if (found === undefined)
      throw new AppError(customerErrors.notFound, { message: `There is no customer ${JSON.stringify(who)}.` })
    if (isRemoved(found)) throw new AppError(customerErrors.removed)
    return found.id
  }

  return {
    async add({ url, customer, statuses, duplicates = true, begin = 'now', giveUpMilliseconds, ca }: NewEndpoint) {
      const all = await webhooks.list()
      if (all.length >= MAX_ENDPOINTS) throw new AppError(webhookErrors.tooMany)
      const settings = {
        url: await checkUrl(url),
        customerId: customer === undefined ? null : await customerOf(customer),
        statuses: statuses === undefined ? null : inOrder(statuses),
        duplicates,
        ca: ca === undefined ? null : readAuthority(ca),
        giveUpMilliseconds: giveUpMilliseconds ?? null,
      }
      const position = await places.after(begin, settings.customerId)
      // Servers could not use a secret that is sealed under a wrong one.
      await secrets.wrappings(all.slice(-1), clock.now())
      const id = newId(clock.now(), random)
      const secret = generateSecret(random)
      await webhooks.add({ ...settings, id, createdAt: clock.now(), secret: await secrets.seal(id, secret), position })
      return { endpoint: await describe(await find(id)), secret }
    },

    /** Lists the oldest first. Counting what each has to send may take long, so that many who ask at once share it. */
    list: sharedOrNext(async (): Promise<DescribedEndpoint[]> => describeAll(await webhooks.list())),

    async show(id: string): Promise<ShownEndpoint> {
      const webhook = await find(id)
      const all = await webhooks.failing(webhook.id, MAX_SHOWN)
      return {
        endpoint: await describe(webhook),
        failing: all
          .filter(({ setAsideAt }) => setAsideAt === null)
          .map((delivery) => ({ ...delivery, nextAt: nextTryOf(webhook, delivery.nextAt) })),
        setAside: all.flatMap(({ setAsideAt, ...delivery }) =>
          setAsideAt === null ? [] : [{ ...delivery, setAsideAt }],
        ),
      }
    },

    /** Those of the last day, the newest first, and what each minute of it had. */
    async attempts(id: string) {
      const webhook = await find(id)
      const from = clock.now() - DAY_MILLISECONDS
      const attempts = await webhooks.attempts(webhook.id, MAX_ATTEMPTS)
      const minutes = await webhooks.minutes(webhook.id, from)
      return { attempts: attempts.filter(({ at }) => at >= from), minutes }
    },

    /** Keeps the reason of an endpoint that is paused already. */
    async pause(id: string): Promise<DescribedEndpoint> {
      const webhook = await find(id)
      if (webhook.paused !== null) return describe(webhook)
      return describe(await change(webhook, { paused: { reason: 'operator', at: clock.now() } }))
    },

    async resume(id: string): Promise<DescribedEndpoint> {
      const webhook = await find(id)
      return describe(webhook.paused === null ? webhook : await change(webhook, { paused: null }))
    },

    set: createSet({ ...dependencies, webhooks, find, customerOf, describe }),

    /** Tells what became of deliveries at an endpoint, the newest first. */
    async fates(id: string, which: Parameters<typeof tellFates>[1]): Promise<Told[]> {
      return tellFates(await find(id), which)
    },

    /** Sends again, whether confirmed or not. Resolves to the number of deliveries; of a stretch, to the most that it may have. */
    async replay(id: string, what: Replayed): Promise<{ endpoint: DescribedEndpoint; deliveries: number }> {
      const replayed = await replays.begin(await find(id), what)
      return { endpoint: await describe(await find(id)), deliveries: replayed }
    },

    /** Ends the replay of a stretch. Resolves to the number of deliveries that it has added, which are sent. */
    async cancelReplay(id: string): Promise<{ endpoint: DescribedEndpoint; deliveries: number }> {
      const added = await replays.cancel(await find(id))
      return { endpoint: await describe(await find(id)), deliveries: added }
    },

    /** The secret before signs, too, until the overlap is over. */
    async rotateSecret(id: string, overlapMilliseconds: number): Promise<WithSecret> {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const webhook = await find(id)
        // Servers could not use a secret that is sealed under a wrong one.
        await secrets.signing(webhook, clock.now())
        const secret = generateSecret(random)
        const until = clock.now() + overlapMilliseconds
        // It signs twice until the new one is there, so that no message goes without it.
        if (overlapMilliseconds > 0) await change(webhook, { formerSecret: { sealed: webhook.secret, until } })
        const to = await secrets.seal(webhook.id, secret)
        // False if somebody else has replaced it meanwhile, whose secret must not be lost.
        if (!(await webhooks.rewrap([{ id: webhook.id, which: 'secret', from: webhook.secret, to }]))) continue
        if (overlapMilliseconds === 0) await change(webhook, { formerSecret: null })
        return { endpoint: await describe(await find(id)), secret }
      }
      throw new AppError(webhookErrors.changedMeanwhile)
    },

    /** Sends a test now, also to an endpoint that is paused. */
    async test(id: string): Promise<{ webhook: Webhook; attempt: WebhookAttempt }> {
      const webhook = await find(id)
      const at = clock.now()
      const body = Buffer.from(JSON.stringify({ type: 'teslim.test', timestamp: isoMilliseconds(at), data: {} }))
      const signing = await secrets.signing(webhook, at)
      const signed = signedHeaders(`test_${newId(at, random)}`, toSeconds(at), body, signing)
      const headers = { ...(await secrets.headers(webhook)), ...signed }
      const { status, error, milliseconds, response } = await send({ url: webhook.url, ca: webhook.ca, headers, body })
      const result = { status, error, milliseconds, response }
      const attempt = { at, position: null, receiptId: null, ...result, nextAt: null }
      await webhooks.recordAttempt(webhook.id, attempt)
      return { webhook, attempt }
    },

    async remove(id: string): Promise<Webhook> {
      const webhook = await find(id)
      if (!(await webhooks.remove(webhook.id))) notFound(id)
      return webhook
    },
  }
}

function notFound(id: string): never {
  throw new AppError(webhookErrors.notFound, { message: `There is no endpoint ${JSON.stringify(id)}.` })
}
