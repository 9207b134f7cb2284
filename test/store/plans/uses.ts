import { expect } from 'vitest'
import type { AuditFilter, Bounds, Filter, Store } from '#src/store/store.ts'
import { apiKey, auditEvent, consoleSession, customer, delivery, key, webhook } from '../../support/store/store-rows.ts'
import { attempt, confirmation, LONG, save, untried, waiting } from '../../support/webhooks/webhook-rows.ts'
import { DELIVERIES, idOf, ONE as one, REFUSALS } from './filled.ts'

const bounds: Bounds = { limit: 50, scan: 1000 }
const NOW = DELIVERIES * 1000
const LAST = DELIVERIES
const ids = Array.from({ length: 100 }, (_, n) => `c-${n + 7}`)
const place = { customerId: one, orderId: 'order-100006' }
const positions = Array.from({ length: 250 }, (_, n) => 1 + n * 1000)
const bytes = (n: number): Uint8Array => Buffer.alloc(32, n)

/** Runs a call, of which no step of a plan may look at more rows than this. */
export type Use = <Result>(most: number, work: () => Result | Promise<Result>) => Promise<Result>

/** Also all customers: with many more, a plan looks them up one by one. */
export const SOME = 1100
/** Also all API keys. */
const ACCOUNTS = 2100
/** Twice as many as a page of refusals looks at: in the audit log and among the bodies. */
const LOGS = 600
/** The refusals of one order, and of others with its key. */
const FEW = 20
/** Fewer than there are customers. */
const HISTORY = 600
/** A walk of one customer also looks at the newest deliveries of all. */
const NEWEST = 10_000

const KEY = '0fa1fd40-d173-7140-8bbb-000000000001'

const filters: readonly Filter[] = [
  {},
  { status: 1 },
  { status: 9 },
  { from: 1, to: 2 },
  { duplicate: true },
  { keyId: KEY, addressPart: '192.0.2.' },
]

async function useDeliveries({ deliveries, customers }: Store, use: Use): Promise<void> {
  for (const filter of filters) {
    for (const whose of [{}, { customerId: one }]) {
      const all = { ...filter, ...whose }
      for (const after of [null, place]) {
        await use(SOME, () => deliveries.orders(after, all, bounds))
        await use(SOME, () => deliveries.orders(after, { ...all, orderId: place.orderId }, bounds))
        await use(SOME, () => deliveries.orders(after, { ...whose, orderIdPrefix: 'order-2' }, bounds))
      }
      for (const after of [0, LAST / 2, LAST - 10]) {
        await use(SOME, () => deliveries.after(after, all, bounds))
        await use(SOME, () => deliveries.pageAfter(after, all, bounds, 2000))
      }
      const most = whose.customerId === undefined ? SOME : NEWEST
      for (const before of [Number.MAX_SAFE_INTEGER, LAST / 2])
        await use(most, () => deliveries.before(before, all, bounds))
    }
  }
  // Without a filter nothing is counted beyond the page.
  await use(SOME, () => deliveries.after(0, {}, { limit: 50, scan: 20_000 }))
  await use(HISTORY, () => deliveries.history(one, place.orderId, { limit: 101 }))
  await use(HISTORY, () => deliveries.history(one, place.orderId, { from: LAST - 1, limit: 101 }))
  for (const at of [LAST, LAST / 2]) await use(SOME, () => deliveries.statesAt(positions, at))
  await use(SOME, () => deliveries.payloads(positions, undefined))
  await use(SOME, () => deliveries.payloads([1], 'text'))
  await use(HISTORY, () => deliveries.origins(positions))
  await use(SOME, () => deliveries.findByReceipt(idOf(500)))
  await use(SOME, () => deliveries.receiptsWith(idOf(500).slice(0, 8), 10))
  await use(SOME, () => deliveries.receiptsOfRequest(idOf(500), bounds))
  await use(SOME, () => deliveries.orderState(one, place.orderId))
  await use(SOME, () => deliveries.lastPosition())
  for (const period of [{}, { from: NOW / 2 }, { from: 1000, to: NOW / 2 }])
    await use(SOME, () => deliveries.positionsWithin(period))
  await use(SOME, () => deliveries.countFrom(1, 1000))
  for (const after of [0, LAST - 10]) await use(SOME, () => deliveries.countAfter(after))
  for (const after of [0, LAST - 10]) await use(SOME, () => deliveries.arrivals(after))
  for (const after of [undefined, LAST - 500])
    await use(2 * SOME, () => deliveries.pulse(after, { from: NOW - 5_000_000, look: 1000, newest: 200 }))
  for (const idempotency of [null, { key: 'key-300', notBefore: 0 }, { key: 'new', notBefore: NOW / 2 }]) {
    for (const orderId of ['order-150', 'new', null]) {
      const wanted = () => delivery('c-151', { orderId, idempotency, receivedAt: NOW })
      await use(SOME, () => deliveries.findDuplicate(wanted()).catch(refused))
      await use(SOME, () => deliveries.deliver(wanted()).catch(refused))
    }
  }
  const many = ids.map((id) => delivery(id, { idempotency: { key: 'many', notBefore: 0 } }))
  await use(SOME, () => Promise.all(many.map((each) => deliveries.deliver(each))))
  const watching = Promise.withResolvers<void>()
  await use(SOME, () => {
    const stop = deliveries.watch(watching.resolve)
    return customers.findById(one).then(stop)
  })
}

/** Same key, another body: that is refused here, too. */
const refused = ({ code }: { code: string }): void => expect(code).toBe('IDEMPOTENCY_KEY_REUSED')

export async function useAccounts({ customers, apiKeys }: Store, use: Use): Promise<void> {
  for (const after of ['', 'c-3000']) {
    for (const filter of [
      {},
      { text: 'nobody' },
      { text: 'customer' },
      { scopes: ['operator'] as const },
      { removed: true },
    ])
      await use(ACCOUNTS, () => customers.search(filter, after, bounds))
    await use(ACCOUNTS, () => customers.list({ afterId: after, limit: 100 }))
  }
  await use(ACCOUNTS, () => customers.findMany(ids))
  await use(ACCOUNTS, () => customers.names(ids))
  await use(ACCOUNTS, () => customers.findById(one))
  await use(ACCOUNTS, () => customers.findByEmail('c-8@example.com'))
  await use(ACCOUNTS, () => customers.insert(customer()))
  await use(ACCOUNTS, () => customers.setPassword(one, 'h', 'g'))
  await use(ACCOUNTS, () => customers.replacePasswordHash(one, 'h', 'i'))
  await use(ACCOUNTS, () => customers.disable(one, { reason: 'asked', tokenGeneration: 'g' }))
  await use(ACCOUNTS, () => customers.enable(one))
  await use(ACCOUNTS, () => customers.revokeTokens(one, 'g'))
  await use(ACCOUNTS, () => customers.addAuthority(one, ['A', 'B']))
  await use(ACCOUNTS, () => customers.removeAuthority(one, ['A', 'B']))
  await use(ACCOUNTS, () => customers.change(one, { email: 'new@example.com', regions: ['DE'] }))

  await use(ACCOUNTS, () => apiKeys.insert(apiKey(one, { id: 'new' })))
  await use(ACCOUNTS, () => apiKeys.findByHash(bytes(1)))
  await use(ACCOUNTS, () => apiKeys.findById('1-c-7'))
  await use(ACCOUNTS, () => apiKeys.withPrefix('1-c-7', 10))
  await use(ACCOUNTS, () => apiKeys.labelled('x', '1-c-7', { limit: 10, scan: 100 }))
  await use(ACCOUNTS, () => apiKeys.list(one))
  await use(Number.POSITIVE_INFINITY, () => apiKeys.list())
  await use(ACCOUNTS, () => apiKeys.page(one, { limit: 100 }))
  await use(ACCOUNTS, () => apiKeys.change('new', { label: 'other', expiresAt: 5 }))
  await use(ACCOUNTS, () => apiKeys.rotate('1-c-7', apiKey(one), { now: 1, endsAt: 2 }))
  await use(ACCOUNTS, () => apiKeys.revoke('new', 3))
  await use(ACCOUNTS, () =>
    apiKeys.recordUses(
      ids.map((id) => ({ keyId: `1-${id}`, usedAt: 9, address: '::1' })),
      9,
    ),
  )
  // For a metric, and once in a while: it looks at every key.
  await use(Number.POSITIVE_INFINITY, () => apiKeys.countExpiring(100, 300))
  await use(ACCOUNTS, () => apiKeys.summaries(ids, { now: 100, soon: 300 }))
  await use(ACCOUNTS, () => apiKeys.silentAmong(ids, { now: 100, silence: 50 }))
  await use(ACCOUNTS, () => apiKeys.silentAfter(one, 500, { now: 100, silence: 50 }))
}

async function useLogs({ audit, refused, loginFailures, rollUps }: Store, use: Use): Promise<void> {
  const scan = { limit: 50, scan: 251 }
  for (const whose of [
    {},
    { customerId: one },
    { customerId: 'nobody' },
    { requestId: 'r-7' },
    { requestId: 'none' },
  ]) {
    const ways: readonly AuditFilter[] = [
      {},
      { action: 'none' },
      { orderId: 'PO-1' },
      { keyId: 'none' },
      { from: 1000, to: NOW / 4 },
    ]
    for (const filter of ways)
      for (const before of [null, [NOW / 4, 75_000]] as const)
        await use(LOGS, () => audit.before(before, { ...filter, ...whose }, scan))
    await use(LOGS, () => audit.list({ ...whose, limit: 50 }))
  }
  const events = [auditEvent(), auditEvent({ customerId: one, orderId: 'a' })]
  await use(SOME, () => audit.append(events))
  await use(SOME, () => audit.prove(events))
  await use(SOME, () =>
    audit.append([auditEvent()], [{ hour: 1, customerId: one, action: 'a', errorCode: 'X', count: 2 }]),
  )
  await use(LOGS, () => audit.deleteBefore(NOW, 100))

  for (const customerId of [one, 'nobody', undefined]) {
    for (const range of [
      {},
      { before: idOf(50_000) },
      { from: 1000, to: NOW / 4 },
      { errorCode: 'NONE' },
      { idPrefix: idOf(50_000).slice(0, 12) },
    ])
      await use(LOGS, () => refused.refusals({ customerId, ...range }, scan))
    for (const range of [{}, { before: idOf(50_000) }, { errorCode: 'NONE' }])
      await use(FEW, () => refused.refusals({ customerId, orderId: 'PO-7', ...range }, scan))
    await use(ACCOUNTS, () => refused.list({ customerId, limit: 50 }))
  }
  await use(LOGS, () => refused.find(idOf(50_003)))
  const body = {
    at: NOW,
    customerId: one,
    keyId: 'k',
    orderId: 'a',
    errorCode: 'X',
    message: 'No.',
    requestId: 'r',
    address: '::1',
  }
  await use(SOME, () =>
    refused.keep([{ ...body, refusalId: idOf(LAST), payload: bytes(1) }], { maxBytes: 20_000, notKept: 1 }),
  )
  await use(LOGS, () => refused.deleteBefore(NOW / 5, 100))
  await use(LOGS, () => refused.remove([idOf(50_003), idOf(50_004)]))
  await use(LOGS, () => refused.erase(one, 100))
  await use(LOGS, () => refused.wipePages(0))
  // For a metric, at each scrape: it counts the bodies that are kept.
  await use(REFUSALS, () => refused.tally())

  const names = Array.from({ length: 10 }, (_, n) => bytes(n))
  await use(LOGS, () => loginFailures.find(names, 1))
  await use(LOGS, () =>
    loginFailures.count(
      names.map((name) => ({ name, expiresAt: 60_000 })),
      100,
    ),
  )
  const [name] = names as [Uint8Array]
  const settled = {
    forget: [name],
    countDown: [{ name, countedAt: 1, countedAs: 1, lastAt: 0 }],
    remember: [{ name: bytes(99), expiresAt: 9 }],
  }
  await use(LOGS, () => loginFailures.settle(settled, 100))

  for (const customerId of [one, undefined])
    await use(SOME, () => rollUps.read({ customerId, from: 0, to: 1000, hoursEach: 24 }, 1000))
  await use(SOME, () => rollUps.count(100))
}

async function useSessions({ consoleSessions }: Store, use: Use): Promise<void> {
  const session = consoleSession(one)
  const { id, digest } = session
  const how = { tokenGeneration: 'g', formers: [bytes(1)], most: 10, now: 1 }
  await use(SOME, () => consoleSessions.begin(session, how))
  await use(SOME, () => consoleSessions.expiry(id))
  await use(SOME, () => consoleSessions.find(digest, 1))
  await use(SOME, () => consoleSessions.renew(digest, 2, 1))
  await use(SOME, () => consoleSessions.end(digest))
  await use(SOME, () => consoleSessions.deleteExpired(1))
  await use(SOME, () => consoleSessions.endAll())
}

async function useSecrets(
  { signingKeys, secrets, accountVersion, ping, tryStatements, lastBackupAt, diskUse, replicas, history }: Store,
  use: Use,
): Promise<void> {
  const made = key({ algorithm: 'ES256' })
  await use(SOME, () => signingKeys.insertFirst(made))
  await use(SOME, () => signingKeys.rotate(key({ algorithm: 'ES256' }), made.kid, 1))
  await use(SOME, () => signingKeys.list())
  await use(SOME, () => signingKeys.removeExpired(1))
  await use(SOME, () => signingKeys.rewrap([{ kid: made.kid, from: made.privateJwk, to: 'x' }]))
  await use(SOME, () => secrets.findOrInsert('cursor', bytes(1)))
  await use(SOME, () => secrets.list('c'))
  await use(SOME, () => secrets.rename('cursor', 'former'))
  for (const work of [accountVersion, ping, tryStatements, lastBackupAt, diskUse, replicas, history])
    await use<unknown>(SOME, work)
}

async function useWebhooks({ webhooks }: Store, use: Use): Promise<void> {
  // Every endpoint is looked at when all are listed, but not what waits for it.
  await use(SOME, () => webhooks.list())
  await use(SOME, webhooks.any)
  const held = (await use(SOME, () => webhooks.hold('a', LONG, 50))).map(({ id }) => id)
  const progress = {
    position: LAST,
    kept: [waiting(3), untried(4)],
    settled: [3, 5, 6].map((position) => ({ position, lane: 1 })),
    confirmed: Array.from({ length: 200 }, (_, n) => confirmation(n)),
    attempts: [attempt({ at: 1, position: 5 })],
    minutes: [{ minute: 7, succeeded: 1, failed: 0, longestMilliseconds: 1 }],
    gone: 1,
  }
  const saves = held.map((id) => save(id, progress))
  for (let times = 0; times < 8; times++) {
    await use(SOME, () => webhooks.hold('a', LONG, 0))
    await use(SOME, () => webhooks.save('a', saves, 0))
  }
  const [id = ''] = held
  await use(SOME, () => webhooks.save('a', [save(id, { position: LAST, hurry: true })], 0))
  const some = [9, 10].map((position) => ({ position, lane: 1 }))
  await use(SOME, () => webhooks.recordAttempt(id, attempt()))
  await use(SOME, () => webhooks.find(id))
  await use(SOME, () => webhooks.load(id))
  await use(SOME, () => webhooks.due(id, 0, 10))
  await use(SOME, () => webhooks.due(id, LAST, 10))
  await use(SOME, () => webhooks.held(id, some))
  await use(SOME, () => webhooks.failing(id, 100))
  await use(SOME, () => webhooks.oldestWaiting(id, 100))
  await use(SOME, () => webhooks.fates(id, [5, 6, 7, 5000]))
  await use(SOME, () => webhooks.attempts(id, 10))
  await use(SOME, () => webhooks.minutes(id, 250))
  await use(SOME, () => webhooks.replay(id, some, 1))
  await use(SOME, () => webhooks.replay(id, 'set-aside', 1))
  await use(SOME, () => webhooks.giveUp('a', id, LAST, 1))
  await use(SOME, () => webhooks.setReplay(id, { from: 0, until: 100, statuses: null, beganAt: 1 }))
  await use(SOME, () => webhooks.addReplayed('a', id, 1, { deliveries: some, position: 10 }, 1))
  await use(SOME, () => webhooks.setReplay(id, null))
  await use(SOME, () => webhooks.change(id, { paused: null, secret: 's' }))
  // A healthy one is a statement of its own.
  for (let times = 0; times < 8; times++) {
    const healthy = { position: LAST, confirmed: progress.confirmed, minutes: progress.minutes }
    await use(SOME, () =>
      webhooks.save(
        'a',
        held.map((id) => save(id, healthy)),
        0,
      ),
    )
  }
  await use(SOME, () => webhooks.save('a', [save(id, { position: LAST, hurry: true, ifVersion: 9 })], 0))
  await use(SOME, () => webhooks.tidy(86_400_100))
  await use(SOME, () => webhooks.rewrap([{ id, which: 'secret', from: 's', to: 't' }]))
  await use(SOME, () => webhooks.release('a', held.slice(1, 5)))
  await use(SOME, () => webhooks.release('a'))
  await use(SOME, () => webhooks.add(webhook()))
  await use(SOME, () => webhooks.remove(id))
  await use(SOME, () => webhooks.pauseAll('operator', 1, one))
  await use(SOME, () => webhooks.pauseAll('operator', 1))
}

/** Removes also what endpoints hold back. On PostgreSQL purge-plans.test.ts does that among more endpoints. */
export async function useUnsentPurge({ purges }: Store, use: Use): Promise<void> {
  const page = { before: NOW, until: LAST - 1000, scan: 500, orders: false, unsent: true, now: NOW, dryRun: false }
  const removed = await use(NEWEST, () => purges.page({ ...page, after: 0 }))
  expect(removed.deliveries).toBeGreaterThan(200)
}

async function usePurges({ purges, customers }: Store, use: Use): Promise<void> {
  await use(SOME, () => purges.state())
  await use(SOME, () => purges.receivedAfter(LAST / 2))
  await use(SOME, () => purges.receivedBefore(NOW / 2))
  await use(20_000, () => purges.endOf(NOW / 2))
  await use(SOME, () => purges.announce(LAST / 2))
  await use(SOME, () => purges.announceErasure())
  const page = { before: NOW, until: LAST - 1000, scan: 500, orders: false, unsent: false, now: NOW, dryRun: true }
  for (const dryRun of [true, false])
    for (const orders of [false, true])
      for (const after of [0, LAST / 2]) await use(2 * SOME, () => purges.page({ ...page, after, orders, dryRun }))
  // It counts first what is not counted.
  await use(NEWEST, () => purges.page({ ...page, until: LAST - 1, after: LAST - 600, dryRun: false }))
  await use(SOME, () => purges.claim({ now: NOW, until: NOW + 1, due: 1 }))
  await use(SOME, () => purges.renew(NOW + 1, NOW + 2))
  await use(SOME, () => purges.finish(NOW, [{ id: 'w', kept: 1, last: 1, removed: 0 }]))
  await use(SOME, () => purges.held())
  await use(SOME, () => purges.giveBack(0))
  await use(SOME, () => purges.rewrite())
  await use(SOME, () => purges.keepMonths(0))
  await use(ACCOUNTS, () => customers.remove(one, { tokenGeneration: 'g', now: 1, erase: true }))
  await use(SOME, () => purges.erase(one, LAST / 2, 1000))
  const positions = [LAST / 2, LAST / 2 + 1]
  for (const sameAs of [null, LAST / 2]) {
    await use(SOME, () => purges.erasable({ customerId: one, positions, sameAs }))
    await use(SOME, () => purges.eraseSome({ customerId: one, positions, sameAs }))
  }
  await use(SOME, () => purges.eraseNames(one))
  await use(SOME, () => purges.wipePages(0, 100))
  await use(SOME, () => purges.wipeLog())
}

/** Uses the whole port. Purges are the last ones, as they remove what the others read. */
export const ALL_PARTS = [useDeliveries, useAccounts, useLogs, useSessions, useSecrets, useWebhooks, usePurges]

/** Wraps a store, and keeps a list of the methods that were not called yet, as `part.method`. */
export function watched(store: Store) {
  const unused = new Set<string>()
  const wrap = <Part extends object>(part: Part, prefix: string): Part =>
    Object.fromEntries(
      Object.entries(part).map(([name, member]) => {
        if (prefix === '' && Object.getPrototypeOf(member) === Object.prototype) return [name, wrap(member, `${name}.`)]
        if (typeof member !== 'function') return [name, member]
        unused.add(prefix + name)
        const call = (...values: unknown[]) => {
          unused.delete(prefix + name)
          return member(...values)
        }
        return [name, call]
      }),
    ) as Part
  return { watchedStore: wrap(store, ''), unused }
}
