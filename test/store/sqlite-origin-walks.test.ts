import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { DeliveryStore, Filter } from '#src/store/store.ts'
import { createStoreWith } from '../support/create-store.ts'
import { plansOfPrepared } from '../support/sqlite-plans.ts'
import { customer } from '../support/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

const MANY = { limit: 2000, scan: 10_000 }
const owner = customer()
const keyId = '0fa1fd40-d173-7140-8bbb-000000000001'

/** 100 payloads of 1 MiB and then 900 small ones, at every second position. Every tenth came with the key. */
const FILL = `
  INSERT INTO delivery (position, receipt, customer, status, received_at, payload, origin)
  SELECT 2 * n, randomblob(16), 1, 0, 0, zeroblob(CASE WHEN n <= 100 THEN 1048576 ELSE 10 END),
         CASE WHEN n % 10 = 0 THEN x'${keyId.replaceAll('-', '')}' ELSE zeroblob(16) END
    FROM (WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 1000) SELECT n FROM r)`

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
  const path = join(tempFolder(), 'walks.db')
  await createStoreWith(`sqlite:${path}`, [owner])
  const file = new DatabaseSync(path)
  file.exec(FILL)
  file.close()
  const plans = plansOfPrepared()
  const { store } = await openStore(loadConfig({ DATABASE_URL: `sqlite:${path}` }).config, 0, { withoutThreads: true })
  onTestFinished(() => store.close())
  const { after, before } = store.deliveries
  const wanted = Array.from({ length: 100 }, (_, n) => 20 * (n + 1))
  for (const whose of [{}, { customerId: owner.id }]) {
    expect(await walk(after, { ...whose, keyId }, 0, 2000)).toEqual([[128, 2000], wanted])
    expect(await walk(before, { ...whose, keyId }, 3000, 0)).toEqual([[74, 0], wanted.toReversed()])
    // What does not read origins looks at all.
    expect((await walk(after, whose, 0, 2000))[0]).toEqual([2000])
    expect((await walk(before, { ...whose, status: 1 }, 3000, 0))[0]).toEqual([0])
  }
  const sums = [...plans].filter(([sql]) => sql.includes('OVER (')).map(([, steps]) => steps.join('\n'))
  expect(sums).toHaveLength(3)
  for (const steps of sums) {
    expect(steps).toContain('SEARCH d USING INTEGER PRIMARY KEY')
    expect(steps).not.toContain('TEMP B-TREE')
  }
})
