import { expect, it } from 'vitest'
import type { Database } from '#src/store/sqlite/database.ts'
import { boundNouns } from '#src/store/sqlite/nouns.ts'
import type { DeliveryStore, Filter } from '#src/store/store.ts'
import { plansOf } from '../support/sqlite-plans.ts'
import { customer } from '../support/store-rows.ts'

const MANY = { limit: 2000, scan: 10_000 }
const owner = customer()
const keyId = '0fa1fd40-d173-7140-8bbb-000000000001'

/** 100 payloads of 1 MiB and then 900 small ones, at every second position. Every tenth came with the key. */
const FILL = `
  INSERT INTO delivery (position, receipt, customer, status, received_at, payload, origin)
  SELECT 2 * n, randomblob(16), 1, 0, 0, zeroblob(CASE WHEN n <= 100 THEN 1048576 ELSE 10 END),
         CASE WHEN n % 10 = 0 THEN x'${keyId.replaceAll('-', '')}' ELSE zeroblob(16) END
    FROM numbers`

/** The positions that pages continue from, and those of the deliveries that were found. */
async function walk(
  read: DeliveryStore['after'],
  filter: Filter,
  start: number,
  end: number,
): Promise<[ends: number[], found: number[]]> {
  const ends: number[] = []
  const found: number[] = []
  for (let place = start; place !== end && ends.length < 10; ends.push(place)) {
    const page = await read(place, filter, MANY)
    found.push(...page.deliveries.map(({ position }) => position))
    place = page.position
  }
  return [ends, found]
}

it('SQLite ends a walk that reads origins after 64 MiB of payloads, and finds all the same', async () => {
  const wanted = Array.from({ length: 100 }, (_, n) => 20 * (n + 1))
  const work = async (database: Database) => {
    const { after, before } = boundNouns(database).deliveries as DeliveryStore
    for (const whose of [{}, { customerId: owner.id }]) {
      expect(await walk(after, { ...whose, keyId }, 0, 2000)).toEqual([[128, 2000], wanted])
      expect(await walk(before, { ...whose, keyId }, 3000, 0)).toEqual([[74, 0], wanted.toReversed()])
      // What does not read origins looks at all.
      expect((await walk(after, whose, 0, 2000))[0]).toEqual([2000])
      expect((await walk(before, { ...whose, status: 1 }, 3000, 0))[0]).toEqual([0])
    }
  }
  for await (const { plans } of plansOf({ customers: [owner], fill: FILL, last: 1000 }, work)) {
    const sums = [...plans].filter(([sql]) => sql.includes('OVER (')).map(([, steps]) => [...steps].join('\n'))
    expect(sums).toHaveLength(3)
    for (const steps of sums) {
      expect(steps).toContain('SEARCH d USING INTEGER PRIMARY KEY')
      expect(steps).not.toContain('TEMP B-TREE')
    }
  }
})
