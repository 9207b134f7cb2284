import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { AuditOperations } from '#src/store/sql/audit.ts'
import type { RefusedOperations } from '#src/store/sql/refused.ts'
import { openDatabase } from '#src/store/sqlite/database.ts'
import { boundNouns } from '#src/store/sqlite/nouns.ts'
import { auditEvent, customer } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

it('large refused bodies expire and are erased 4 MiB at a time, so that deliveries wait little', async () => {
  const path = join(tempFolder(), 'teslim.db')
  const { store } = await openStore(loadConfig({ DATABASE_URL: `sqlite:${path}` }).config, 0)
  const one = customer()
  await store.customers.insert(one)
  const bodies = Array.from({ length: 9 }, (_, number) => ({
    refusalId: `00000000-0001-7000-8000-00000000000${number}`,
    at: 1,
    customerId: one.id,
    keyId: 'k',
    orderId: null,
    errorCode: 'X',
    message: '',
    requestId: 'r',
    address: '::1',
    payload: Buffer.alloc(2 * 1024 * 1024),
  }))
  await store.refused.keep(bodies, { maxBytes: Number.MAX_SAFE_INTEGER, notKept: 0 })
  const database = openDatabase(path)
  const { deleteSome, erase } = boundNouns(database).refused as RefusedOperations
  const left = async () => (await store.refused.tally()).bodies
  expect([await deleteSome(2, 500), await left()]).toEqual([2, 7])
  expect([await store.refused.deleteBefore(2, 3), await left()]).toEqual([3, 4])
  expect([await erase(one.id, 50), await left()]).toEqual([true, 2])
  expect([await erase(one.id, 50), await left()]).toEqual([false, 0])
  expect((await store.refused.tally()).bytes).toBe(0)
  database.close()
  await store.close()
})

it.each([0, 1, 2])('a refusal that comes before statement %i of two pages pushes none out of them', async (number) => {
  const path = join(tempFolder(), 'teslim.db')
  const { store } = await openStore(loadConfig({ DATABASE_URL: `sqlite:${path}` }).config, 0)
  const ids = [1, 2, 3, 4].map((number) => `00000000-000${number}-7000-8000-000000000000`)
  const refuse = (refusalId = '') =>
    auditEvent({ customerId: null, action: 'delivery.refused', refusalId, details: { errorCode: 'X' } })
  const [first, second, third, late] = ids
  await store.audit.append([first, second, third].map(refuse))
  const database = openDatabase(path)
  const nouns = boundNouns(database)
  let asked = 0
  const ask: typeof database.ask = (sql, values) => {
    if (asked++ === number) void (nouns.audit as AuditOperations).append([refuse(late)])
    return database.ask(sql, values)
  }
  const { refusals } = boundNouns({ ...database, ask }).refused as RefusedOperations
  const found: string[] = []
  for (let before: string | null | undefined; before !== null; ) {
    const page = await refusals({ errorCode: 'X', before }, { limit: 9, scan: 2 })
    found.push(...page.refusals.map(({ refusalId }) => refusalId))
    before = page.next
  }
  expect(found.filter((id) => id !== late)).toEqual([third, second, first])
  expect(asked).toBe(2)
  database.close()
  await store.close()
})

it('nothing is left of order ids of refusals that were erased, however their indexes were split and merged', async () => {
  const path = join(tempFolder(), 'teslim.db')
  const { store } = await openStore(loadConfig({ DATABASE_URL: `sqlite:${path}` }).config, 0)
  const all = [customer(), customer(), customer()]
  for (const each of all) await store.customers.insert(each)
  const [erased] = all as [(typeof all)[number]]
  let number = 0
  const event = () => {
    const { id } = all[number++ % all.length] as (typeof all)[number]
    const text = createHash('sha256')
      .update(`${number}`)
      .digest('hex')
      .slice(0, 2 * (3 + (number % 8)))
    return auditEvent({
      customerId: id,
      action: 'delivery.refused',
      refusalId: `${number.toString(16).padStart(8, '0')}-0000-7000-8000-000000000000`,
      orderId: id === erased.id ? `${text}-MARKER` : text,
      details: { errorCode: 'X' },
    })
  }
  for (let batch = 0; batch < 120; batch++) await store.audit.append(Array.from({ length: 50 }, event))
  await store.customers.remove(erased.id, { tokenGeneration: 'ended', now: 1, erase: true })
  while (await store.refused.erase(erased.id, 50));
  for (let after: number | null = 0; after !== null; ) after = await store.refused.wipePages(after)
  expect(await store.purges.wipeLog()).toBeUndefined()
  await store.close()
  expect(readFileSync(path).includes('MARKER')).toBe(false)
})
