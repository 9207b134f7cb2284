import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { eraseDeliveries } from '#src/purchase/purge/erase.rule.ts'
import { openStore } from '#src/store/open-store.ts'
import { openDatabase } from '#src/store/sqlite/database.ts'
import { boundNouns } from '#src/store/sqlite/nouns.ts'
import type { WebhookStore } from '#src/store/store.ts'
import { customer, delivery, webhook } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { ALL, attempt, DAY, NOW, save } from '../support/webhooks/webhook-rows.ts'
import { held } from './conformance/webhook-promises.ts'

const minuteOf = (minute: number) => ({ minute, succeeded: 1, failed: 0, longestMilliseconds: 1 })

const open = async (path: string) => (await openStore(loadConfig({ DATABASE_URL: `sqlite:${path}` }).config, 0)).store

it('an erasure leaves nothing of what endpoints answered to deliveries of the customer', async () => {
  const path = join(tempFolder(), 'erased.db')
  const store = await open(path)
  const [one, other] = [customer(), customer()]
  for (const each of [one, other]) await store.customers.insert(each)
  for (const each of [delivery(one.id), delivery(other.id)]) await store.deliveries.deliver(each)
  const endpoints: Awaited<ReturnType<typeof held>>[] = []
  while (endpoints.length < 6) endpoints.push(await held(store))
  let state = 1
  const below = (limit: number): number => {
    state = (state * 48_271) % 2_147_483_647
    return state % limit
  }
  // Attempts expire in another order than they came, so that SQLite moves the rows that stay from page to page.
  for (let round = 0; round < 120; round++) {
    const { id, holder } = endpoints[below(6)] as (typeof endpoints)[number]
    const attempts = Array.from({ length: 1 + below(90) }, (_, n) => {
      const answer = n % 2 ? 'secret-answer' : 'kept-answer'
      return attempt({ at: NOW - below(DAY), position: n % 2 ? 1 : 2, response: answer.repeat(1 + below(70)) })
    })
    expect(
      await store.webhooks.save(holder, [save(id, { attempts, minutes: [minuteOf(round)] })], NOW + round * 350_000),
    ).toEqual([id])
  }
  await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: true })
  const { purges, refused } = store
  const { left } = await eraseDeliveries(
    { purges, refused, yielding: (step) => step(), wait: async () => undefined, onProgress: () => undefined },
    one.id,
  )
  expect(left).toBeUndefined()
  const kept = (await Promise.all(endpoints.map(({ id }) => store.webhooks.attempts(id, ALL)))).flat()
  expect(kept.length).toBeGreaterThan(500)
  expect(kept.filter(({ response }) => !response?.startsWith('kept-answer'))).toEqual([])
  await store.close()
  const file = readFileSync(path).toString('latin1')
  expect(file.includes('kept-answer')).toBe(true)
  expect(file.includes('secret-answer')).toBe(false)
})

it('a removed or rotated secret is not left in the file', async () => {
  const path = join(tempFolder(), 'secrets.db')
  const store = await open(path)
  const all = Array.from({ length: 20 }, () => webhook({ secret: 'first-secret-of-many', ca: 'x'.repeat(1500) }))
  for (const each of all) await store.webhooks.add(each)
  for (const [index, { id }] of all.entries()) {
    if (index % 2) await store.webhooks.remove(id)
    else await store.webhooks.change(id, { secret: 'second' })
  }
  expect(await store.purges.wipeLog()).toBeUndefined()
  await store.close()
  expect(readFileSync(path).toString('latin1').includes('first-secret-of-many')).toBe(false)
})

it('after what a power cut may undo, the next transaction waits for the disk again', async () => {
  const path = join(tempFolder(), 'sync.db')
  const store = await open(path)
  const one = webhook()
  await store.webhooks.add(one)
  const database = openDatabase(path)
  const waitsForDisk = () => database.get('PRAGMA synchronous')?.synchronous === 2
  const waited: boolean[] = []
  const ask: typeof database.ask = (sql, values) => {
    waited.push(waitsForDisk())
    return database.ask(sql, values)
  }
  // What a thread runs gives its result, or throws, at once.
  const { advance: keep, recordAttempt } = boundNouns({ ...database, ask }).webhooks as unknown as WebhookStore & {
    advance: WebhookStore['save']
  }
  const minutes = [{ minute: 0, succeeded: 0.5, failed: 0, longestMilliseconds: 0 }]
  expect(() => keep('a', [save(one.id, { minutes })], NOW)).toThrow()
  expect(waitsForDisk()).toBe(true)
  expect(keep('a', [save(one.id)], NOW)).toEqual([one.id])
  expect(waitsForDisk()).toBe(true)
  expect(waited).not.toContain(true)
  waited.length = 0
  void recordAttempt(one.id, attempt())
  expect(new Set(waited)).toEqual(new Set([true]))
  database.close()
  await store.close()
})

it('whoever has the file holds every endpoint that is not paused, without a lease', async () => {
  const store = await open(join(tempFolder(), 'held.db'))
  const { webhooks } = store
  const [one, two] = [webhook(), webhook()]
  for (const each of [one, two]) await webhooks.add(each)
  const held = [one, two].map(({ id }) => ({ id, version: 1, paused: false, isNew: false }))
  expect(await webhooks.hold('a', 1, 0)).toEqual(held)
  expect(await webhooks.hold('b', 1, 0)).toEqual(held)
  await webhooks.release('a')
  await webhooks.change(one.id, { paused: { reason: 'operator', at: NOW } })
  expect(await webhooks.hold('a', 1, 0)).toEqual(held.slice(1))
  expect(await webhooks.save('a', [save(one.id, { position: 3 })], NOW)).toEqual([one.id])
  await store.close()
})
