import fc from 'fast-check'
import { describe, expect } from 'vitest'
import type { Confirmation, WaitingDelivery, WebhookSave } from '#src/store/store.ts'
import { runs } from '../../support/random-runs.ts'
import { webhook } from '../../support/store/store-rows.ts'
import {
  ALL,
  confirmation,
  holderName,
  LONG,
  NOW,
  save,
  untried,
  waiting,
} from '../../support/webhooks/webhook-rows.ts'
import type { Open } from './promises.ts'
import { webhookPromises } from './webhook-promises.ts'

const POSITIONS = 24
const LANES = 4

const position = fc.nat(POSITIONS - 1)
const positions = fc.uniqueArray(position, { maxLength: 5 })
/** Deliveries of one position always have one lane. */
const laneOf = (position: number): number => (position % 5 === 4 ? -position : position % LANES)
const laned = (position: number) => ({ position, lane: laneOf(position) })

const kept = fc.record({
  position,
  how: fc.constantFrom('untried', 'failed', 'silent', 'aside'),
  wait: fc.integer({ min: 0, max: 5000 }),
})
const step = fc.oneof(
  fc.record({
    do: fc.constant('save' as const),
    kept: fc.array(kept, { maxLength: 6 }),
    settled: positions,
    confirmed: positions,
    advance: fc.nat(6),
    hurry: fc.boolean(),
    twice: fc.boolean(),
  }),
  fc.record({ do: fc.constant('replay' as const), positions }),
  fc.record({ do: fc.constant('set-aside' as const) }),
  fc.record({ do: fc.constant('give-up' as const), ago: fc.integer({ min: 0, max: 6000 }) }),
  fc.record({ do: fc.constant('begin' as const), until: position }),
  fc.record({ do: fc.constant('add' as const), positions }),
)

type Kept = WaitingDelivery & { readonly replayed: boolean }

/** What an endpoint has not taken, as a list. */
function createModel() {
  const rows = new Map<number, Kept>()
  const journal = new Map<number, Confirmation & { readonly at: number }>()
  let place = 0
  let failingSince: number | null = null

  const counts = () => {
    const all = [...rows.values()]
    const waits = all.filter(({ setAsideAt }) => setAsideAt === null)
    return {
      waiting: waits.length,
      failing: waits.filter(({ failures }) => failures > 0).length,
      setAside: all.length - waits.length,
    }
  }

  const settle = (touched: readonly number[], now: number): void => {
    for (const lane of new Set(touched.map(laneOf))) {
      const [first, ...others] = [...rows.values()]
        .filter((row) => row.lane === lane && row.setAsideAt === null)
        .sort((one, other) => one.position - other.position)
      if (first !== undefined) rows.set(first.position, { ...first, nextAt: first.nextAt ?? now })
      for (const row of others) rows.set(row.position, { ...row, nextAt: null })
    }
    failingSince = counts().failing > 0 ? (failingSince ?? now) : null
  }

  const again = (positions: readonly number[], now: number): number => {
    const sent = positions.filter((each) => {
      const row = rows.get(each)
      return row === undefined || row.setAsideAt !== null
    })
    for (const each of sent) rows.set(each, { ...untried(each, laned(each)), replayed: true })
    settle(positions, now)
    return sent.length
  }

  return {
    counts,
    rows: () => rows,
    journal,
    place: () => place,
    failingSince: () => failingSince,
    save({ position, kept, settled, confirmed, hurry }: WebhookSave, now: number) {
      place = position
      const last = new Map(kept.map((each) => [each.position, each]))
      for (const each of last.values())
        if (each.failures > 0 || !rows.has(each.position))
          rows.set(each.position, { ...each, replayed: rows.get(each.position)?.replayed ?? false })
      for (const each of settled) rows.delete(each.position)
      settle([...last.keys(), ...settled.map(({ position }) => position)], now)
      for (const [key, row] of rows)
        if (hurry && !row.answered && row.failures > 0 && row.nextAt !== null && row.nextAt > now + 1000)
          rows.set(key, { ...row, nextAt: now + (key % 1000) })
      for (const each of confirmed) journal.set(each.position, { ...each, at: now })
    },
    again,
    giveUp(before: number, now: number): number {
      const over = [...rows.values()].filter((row) => row.setAsideAt === null && (row.firstFailedAt ?? now) <= before)
      const failed = over.filter(({ firstFailedAt }) => firstFailedAt !== null)
      for (const row of failed) rows.set(row.position, { ...row, nextAt: null, setAsideAt: now })
      settle(
        failed.map(({ position }) => position),
        now,
      )
      return failed.length
    },
    replay(positions: readonly number[], now: number): number {
      const chosen = positions.filter((each) => each <= place || rows.get(each)?.setAsideAt != null)
      let hastened = 0
      for (const each of chosen) {
        const row = rows.get(each)
        if (row === undefined || (row.nextAt ?? 0) <= now) continue
        rows.set(each, { ...row, nextAt: now })
        hastened++
      }
      return hastened + again(chosen, now)
    },
    aside: () => [...rows.values()].filter(({ setAsideAt }) => setAsideAt !== null).map(({ position }) => position),
    replayed: () =>
      [...rows.values()].filter(
        ({ replayed, failures, setAsideAt }) => replayed && failures === 0 && setAsideAt === null,
      ).length,
  }
}

export function describeWebhookModel(name: string, open: Open): void {
  describe(`${name}: whatever happens to what waits`, () => {
    const { promise } = webhookPromises(open)

    promise('counters, times, lanes and the journal agree with the model', async ({ webhooks }) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
          const { id } = webhook()
          await webhooks.add(webhook({ id }))
          const holder = holderName()
          await webhooks.hold(holder, LONG, ALL)
          const model = createModel()
          let now = NOW
          let replay: { readonly beganAt: number; readonly until: number } | undefined
          for (const step of steps) {
            now += 700
            if (step.do === 'save') {
              const one = save(id, {
                position: Math.min(model.place() + step.advance, POSITIONS),
                kept: step.kept.map(({ position, how, wait }) => {
                  const nextAt = now + wait
                  const more = { ...laned(position), nextAt, lastError: how }
                  if (how === 'untried')
                    return untried(position, { ...laned(position), nextAt: wait % 2 ? nextAt : null })
                  if (how === 'aside') return waiting(position, { ...more, nextAt: null, setAsideAt: now })
                  return waiting(position, { ...more, firstFailedAt: now - wait, answered: how === 'failed' })
                }),
                settled: step.settled.map(laned),
                confirmed: step.confirmed.map((each) => confirmation(each, { milliseconds: now % 1000 })),
                hurry: step.hurry,
              })
              model.save(one, now)
              expect(await webhooks.save(holder, [one], now)).toEqual([id])
              // The answer was lost, so it is stored again.
              if (step.twice) {
                now += 50
                model.save(one, now)
                await webhooks.save(holder, [one], now)
              }
            } else if (step.do === 'replay') {
              expect(await webhooks.replay(id, step.positions.map(laned), now)).toBe(model.replay(step.positions, now))
            } else if (step.do === 'set-aside') {
              expect(await webhooks.replay(id, 'set-aside', now)).toBe(model.again(model.aside(), now))
            } else if (step.do === 'give-up') {
              expect(await webhooks.giveUp(holder, id, now - step.ago, now)).toBe(model.giveUp(now - step.ago, now))
            } else if (step.do === 'begin') {
              await webhooks.setReplay(id, { from: 0, until: step.until, statuses: null, beganAt: now })
              replay ??= { beganAt: now, until: step.until }
            } else {
              const page = { deliveries: step.positions.map(laned), position: Math.max(0, ...step.positions) }
              const found = await webhooks.addReplayed(holder, id, replay?.beganAt ?? 0, page, now)
              if (replay === undefined) expect(found).toBeUndefined()
              else {
                model.again(step.positions, now)
                expect(found).toBe(model.replayed())
                if (page.position >= replay.until) replay = undefined
              }
            }
            await agrees()
          }

          async function agrees(): Promise<void> {
            const rows = [...model.rows().values()].sort((one, other) => one.position - other.position)
            const own = rows.map(({ replayed: _, ...row }) => row)
            const nextAt = own.map((row) => row.nextAt ?? Number.POSITIVE_INFINITY)
            const { webhook, confirmed } = (await webhooks.load(id)) ?? {}
            expect(webhook).toMatchObject({
              ...model.counts(),
              position: model.place(),
              failingSince: model.failingSince(),
              nextTryAt: nextAt.length > 0 && Number.isFinite(Math.min(...nextAt)) ? Math.min(...nextAt) : null,
            })
            const after = [...model.journal.keys()].filter((each) => each > model.place())
            expect(confirmed).toEqual(after.sort((one, other) => one - other))
            const due = await webhooks.due(id, now, ALL)
            const lanes = new Set(own.filter((row) => (row.nextAt ?? Infinity) <= now).map(({ lane }) => lane))
            const ofDue = own.filter((row) => lanes.has(row.lane) && row.setAsideAt === null)
            const found = due.deliveries.map(({ receiptId: _, receivedAt: __, ...row }) => row)
            expect(found.toSorted((one, other) => one.position - other.position)).toEqual(ofDue)
            const later = nextAt.filter((each) => each > now && Number.isFinite(each))
            expect(due.nextAt).toBe(later.length > 0 ? Math.min(...later) : null)
            const everything = Array.from({ length: POSITIONS }, (_, n) => n)
            const busy = new Set(own.filter((row) => row.setAsideAt === null).map(({ lane }) => lane))
            expect(await webhooks.held(id, everything.map(laned))).toEqual(
              everything.filter((each) => model.rows().has(each) || busy.has(laneOf(each))),
            )
            const fates = await webhooks.fates(id, everything)
            for (const each of everything) {
              const row = own.find(({ position }) => position === each)
              const { at, position: _, ...how } = model.journal.get(each) ?? { at: 0, position: 0 }
              const unread = each > model.place() ? { state: 'unread' } : undefined
              const fate = row ? { state: 'kept', delivery: row } : at > 0 ? { state: 'confirmed', at, ...how } : unread
              expect([each, fates.get(each)]).toEqual([each, fate])
            }
            const failed = own.filter((row) => row.failures > 0 || row.setAsideAt !== null)
            expect(
              (await webhooks.failing(id, ALL)).map((row) => row.position).toSorted((one, other) => one - other),
            ).toEqual(failed.map((row) => row.position))
          }
          await webhooks.remove(id)
        }),
        { numRuns: runs(30) },
      )
    })
  })
}
