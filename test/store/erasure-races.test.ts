import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { deliveryToErase, erase, orderToErase } from '#src/purchase/purge/erase-some.rule.ts'
import { purgeDeliveries } from '#src/purchase/purge/purge.rule.ts'
import { type OwnSteps, purgeStore, type SharedSteps } from '#src/store/sql/purges.ts'
import { openDatabase } from '#src/store/sqlite/database.ts'
import { boundNouns } from '#src/store/sqlite/nouns.ts'
import type { NewDelivery, Store } from '#src/store/store.ts'
import { holding } from '../support/faults/remains.ts'
import { runSql } from '../support/postgres/postgres-server.ts'
import { deliverBy, session, untilWaiting } from '../support/postgres/postgres-session.ts'
import { runCommand } from '../support/processes/command.ts'
import { customer, delivery, webhook as newWebhook, nextNumber } from '../support/store/store-rows.ts'
import { storesOfRun } from '../support/store/stores.ts'
import { openTestStore } from '../support/store/test-store.ts'
import { tempFolder } from '../support/temp-folder.ts'

const SECRET = 'MARKER-of-a-person'
const payloadOf = (name: string): Buffer =>
  Buffer.from(JSON.stringify({ Status: 1, name, filler: 'more than a digest '.repeat(6) }))
const PAYLOAD = payloadOf(SECRET)
const LATER = payloadOf('somebody else')
const origin = { keyId: '0199f3c2-8f4e-7c31-9d2a-000000000001', address: '192.0.2.77', requestId: SECRET }

type Step = (name: string) => Promise<void>

const methodsOf = (part: object) => Object.entries(part) as [string, (...args: unknown[]) => unknown][]

/** A part of the store that stops before each call. */
const stopping = <Part extends object>(part: Part, step: Step): Part =>
  Object.fromEntries(
    methodsOf(part).map(([name, run]) => [
      name,
      async (...args: unknown[]) => {
        await step(name)
        return run(...args)
      },
    ]),
  ) as Part

/** Also stops between what a file looks up and what it writes then, which is one call of the port. */
function stoppingPurges(databaseUrl: string, purges: Store['purges'], step: Step): Store['purges'] {
  if (!databaseUrl.startsWith('sqlite:')) return stopping(purges, step)
  const database = openDatabase(databaseUrl.slice('sqlite:'.length))
  onTestFinished(() => database.close())
  const steps = stopping(boundNouns(database).purges as object, step) as SharedSteps & OwnSteps
  return { ...stopping(purges, step), eraseSome: purgeStore(steps, { count: async () => 0 }).eraseSome }
}

/** Waits for nobody, but stops where an erasure waits for what is under way. */
async function eraseWith(
  { store, url }: Pick<Stage, 'store' | 'url'>,
  find: Parameters<typeof erase>[1],
  step: Step = async () => undefined,
) {
  const [deliveries, refused] = [stopping(store.deliveries, step), stopping(store.refused, step)]
  return erase(
    {
      stores: { customers: store.customers, deliveries, refused, purges: stoppingPurges(url, store.purges, step) },
      databaseUrl: url,
      clock: { monotonic: () => 0 },
      wait: (milliseconds) => (milliseconds >= 1000 ? step('wait') : Promise.resolve()),
      record: () => step('record'),
      dryRun: false,
    },
    find,
  )
}

interface Stage {
  readonly store: Store
  readonly url: string
  readonly customerId: string
  readonly endpoint: string
}

async function prepare(DATABASE_URL: string): Promise<Stage> {
  const store = await openTestStore(DATABASE_URL)
  const one = customer()
  await store.customers.insert(one)
  const endpoint = newWebhook()
  await store.webhooks.add(endpoint)
  return { store, url: DATABASE_URL, customerId: one.id, endpoint: endpoint.id }
}

/** What happens once while a delivery or an order is erased. */
type Action = (stage: Stage, first: NewDelivery, erasing: () => Promise<unknown>) => Promise<void>

const FIRST = (first: NewDelivery) => ({ receiptId: first.receiptId, duplicate: true })

const again = ({ customerId, orderId }: NewDelivery, more: Partial<NewDelivery> = {}) =>
  delivery(customerId, { orderId, payload: PAYLOAD, origin, ...more })

const ACTIONS: Readonly<Record<string, Action>> = {
  async 'an echo'({ store: { deliveries } }, first) {
    expect(await deliveries.deliver(again(first))).toMatchObject(FIRST(first))
  },
  async 'a retry'({ store: { deliveries } }, first) {
    const retry = again(first, { idempotency: first.idempotency })
    expect(await deliveries.findDuplicate(retry)).toMatchObject(FIRST(first))
    expect(await deliveries.deliver(retry)).toMatchObject(FIRST(first))
  },
  async 'an echo, a retry and a later delivery in one batch'({ store: { deliveries } }, first) {
    const some = [
      again(first),
      again(first, { idempotency: first.idempotency }),
      again(first, { payload: LATER, origin: null }),
    ]
    const outcomes = await Promise.all(some.map((each) => deliveries.deliver(each)))
    expect(outcomes).toMatchObject([FIRST(first), FIRST(first), { duplicate: false }])
  },
  async 'another erasure'(_stage, _first, erasing) {
    await erasing()
  },
  async 'an answer of an endpoint'({ store: { webhooks, deliveries }, endpoint }, { receiptId }) {
    const found = await deliveries.findByReceipt(receiptId)
    const attempt = { at: Date.now(), status: 500, error: null, milliseconds: 1, nextAt: null, response: SECRET }
    await webhooks.recordAttempt(endpoint, { ...attempt, position: found?.position ?? 0, receiptId })
  },
  async 'a purge'({ store }, first) {
    // The order needs the later one only.
    await store.deliveries.deliver(again(first, { payload: LATER, origin: null }))
    await store.deliveries.deliver(delivery(first.customerId))
    const all = { before: first.receivedAt + 1, orders: false, unsent: true, now: first.receivedAt + 1 }
    await purgeDeliveries({ purges: store.purges, yielding: (step) => step() }, all)
  },
}

describe.each(storesOfRun())(
  'an erasure on %s leaves nothing, whatever happens at whichever step of it:',
  (kind, emptyStore) => {
    describe.each(['delivery', 'order'])('of one %s:', (what) => {
      it.each(Object.keys(ACTIONS))('%s', async (name) => {
        const { DATABASE_URL } = await emptyStore()
        const stage = await prepare(DATABASE_URL)
        const { store, url, customerId } = stage
        const steps: string[] = []
        let isOver = false
        for (let stop = 0; !isOver; stop++) {
          const idempotency = { key: `key-${stop}`, notBefore: 0 }
          const orderId = `PO-${stop}`
          const first = delivery(customerId, { orderId, payload: PAYLOAD, origin, idempotency })
          await store.deliveries.deliver(first)
          const find: Parameters<typeof erase>[1] = async (stores) => [
            await (what === 'order'
              ? orderToErase(stores, customerId, orderId)
              : deliveryToErase(stores, first.receiptId)),
          ]
          let step = 0
          const act = async (at: string): Promise<void> => {
            if (step++ !== stop) return
            steps.push(at)
            await ACTIONS[name]?.(stage, first, () => eraseWith(stage, find))
          }
          const { left } = await eraseWith(stage, find, act)
          expect(left).toBeUndefined()
          isOver = step <= stop
          const where = `${orderId}, before ${steps.at(-1)}`
          // A file is searched before the next erasure wipes it.
          if (kind === 'sqlite') expect([where, await holding(url, SECRET)]).toEqual([where, []])
          for (const each of await store.deliveries.history(customerId, orderId)) {
            const found = await store.deliveries.findByReceipt(each.receiptId)
            const isLater = Buffer.compare(found?.payload ?? PAYLOAD, LATER) === 0
            // Of an order, what comes later may be erased, too.
            expect([where, found?.erased || isLater]).toEqual([where, true])
            if (what === 'delivery' && each.receiptId !== first.receiptId && !each.duplicate) expect(isLater).toBe(true)
          }
          if (name !== 'a purge') {
            const retry = again(first, { idempotency })
            expect(await store.deliveries.deliver(retry)).toMatchObject(FIRST(first))
            expect(await store.deliveries.findByReceipt(first.receiptId)).toMatchObject({
              erased: true,
              status: 1,
              orderId,
              origin: { keyId: origin.keyId, address: null, requestId: null },
            })
          }
        }
        expect(steps).toEqual(expect.arrayContaining(['announceErasure', 'record', 'wait', 'wipePages', 'wipeLog']))
        if (kind === 'sqlite')
          expect(steps).toEqual(expect.arrayContaining(['findErasable', 'erase', 'forgetAttempts']))
        expect(await holding(url, SECRET)).toEqual([])
        if (kind === 'sqlite') {
          const backup = join(tempFolder(), 'b.db')
          const env = { DATABASE_URL: url }
          expect(await runCommand(['backup', backup], { cwd: tempFolder(), env })).toMatchObject({ status: 0 })
          expect(await holding(`sqlite:${backup}`, SECRET)).toEqual([])
        }
      })
    })
  },
)

const partitionByMonth = readFileSync(new URL('../../deploy/postgres/partition-by-month.sql', import.meta.url), 'utf8')
const MONTH = 31 * 86_400_000

/** A receipt of a time, which tells its month. */
function receiptAt(time: number): string {
  const hex = time.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${nextNumber().toString(16).padStart(12, '0')}`
}

describe.each(storesOfRun('postgres'))('an erasure on %s and a transaction that is held:', (_kind, emptyStore) => {
  describe.each(['in one table', 'in partitions of months'])('%s:', (place) => {
    async function hold() {
      const { DATABASE_URL: url } = await emptyStore()
      const stage = await prepare(url)
      const { store, customerId } = stage
      const [now, then] = [Date.now(), Date.now() - 2 * MONTH]
      if (place !== 'in one table') {
        // The delivery lies in the partition of what was there before, its echoes in that of a month ahead.
        await runSql(url, partitionByMonth)
        await store.purges.keepMonths(0)
      }
      const idempotency = { key: 'key', notBefore: 0 }
      const first = delivery(customerId, {
        ...{ orderId: 'PO', payload: PAYLOAD, origin, idempotency },
        ...{ receiptId: receiptAt(then), receivedAt: then },
      })
      await store.deliveries.deliver(first)
      const later = (more: Partial<NewDelivery>): NewDelivery => {
        const at = now + 2 * MONTH
        return again(first, { receiptId: receiptAt(at), receivedAt: at, ...more })
      }
      const holder = await session(url)
      await holder.query('BEGIN')
      const find = async (stores: Parameters<typeof deliveryToErase>[0]) => [
        await deliveryToErase(stores, first.receiptId),
      ]
      return { ...stage, first, later, holder, erasing: () => eraseWith(stage, find) }
    }

    const partitionsOf = async (url: string) => (await runSql(url, 'SELECT DISTINCT tableoid FROM delivery')).length

    it('an echo that is being stored is erased, and so is a retry of it', async () => {
      const { url, store, first, later, holder, erasing } = await hold()
      const { receiptId, ...rest } = later({ idempotency: null })
      await deliverBy(holder, { receiptId, ...rest })
      const erased = erasing()
      await untilWaiting(url)
      await holder.query('COMMIT')
      expect(await erased).toMatchObject({ deliveries: 2, left: undefined })
      expect(await partitionsOf(url)).toBe(place === 'in one table' ? 1 : 2)
      expect(await store.deliveries.findByReceipt(receiptId)).toMatchObject({ erased: true, duplicate: true })
      expect(await holding(url, SECRET)).toEqual([])
      const retry = later({ idempotency: first.idempotency })
      expect(await store.deliveries.deliver(retry)).toMatchObject(FIRST(first))
    })

    it('deliveries that wait for the erasure get their receipts, and do not bring it back', async () => {
      const { url, store, first, later, holder, erasing } = await hold()
      await holder.query('SELECT erase_1(ARRAY[$1::uuid], false)', [first.receiptId])
      const some = [later({}), later({ idempotency: first.idempotency }), later({ payload: LATER, origin: null })]
      const delivering = Promise.all(some.map((each) => store.deliveries.deliver(each)))
      await untilWaiting(url)
      await holder.query('COMMIT')
      expect(await delivering).toMatchObject([FIRST(first), FIRST(first), { duplicate: false }])
      expect(await holding(url, SECRET)).toEqual([])
      expect(await erasing()).toMatchObject({ deliveries: 0, left: undefined })
      expect(await store.deliveries.findByReceipt((some[2] as NewDelivery).receiptId)).toMatchObject({
        erased: false,
        payload: LATER,
      })
    })

    it('another erasure: each delivery is counted once', async () => {
      const { url, first, holder, erasing } = await hold()
      expect((await holder.query('SELECT erase_1(ARRAY[$1::uuid], false) AS count', [first.receiptId])).rows).toEqual([
        { count: '1' },
      ])
      const erased = erasing()
      await untilWaiting(url)
      await holder.query('COMMIT')
      expect(await erased).toMatchObject({ deliveries: 0, left: undefined })
      expect(await holding(url, SECRET)).toEqual([])
    })

    it('a purge that has removed the delivery: nothing is left to erase', async () => {
      const { url, store, first, later, holder, erasing } = await hold()
      await store.deliveries.deliver(later({ payload: LATER, origin: null }))
      while ((await store.rollUps.count(10)) > 0);
      await holder.query('SELECT purge_1(ARRAY[$1::uuid], ARRAY[]::bigint[], 0)', [first.receiptId])
      const erased = erasing()
      await untilWaiting(url)
      await holder.query('COMMIT')
      expect(await erased).toMatchObject({ deliveries: 0, left: undefined })
      expect(await holding(url, SECRET)).toEqual([])
    })

    it('a purge that waits for the erasure removes what is erased', async () => {
      const { url, store, first, later, holder, erasing } = await hold()
      await store.deliveries.deliver(later({ payload: LATER, origin: null }))
      while ((await store.rollUps.count(10)) > 0);
      await holder.query('SELECT erase_1(ARRAY[$1::uuid], false)', [first.receiptId])
      const page = { after: 0, until: 1, before: Date.now(), orders: false, unsent: true, now: Date.now(), scan: 10 }
      const purging = store.purges.page({ ...page, dryRun: false })
      await untilWaiting(url)
      await holder.query('COMMIT')
      expect(await purging).toMatchObject({ deliveries: 1 })
      expect(await holding(url, SECRET)).toEqual([])
      await expect(erasing()).rejects.toMatchObject({ code: 'DELIVERY_NOT_FOUND' })
    })
  })
})
