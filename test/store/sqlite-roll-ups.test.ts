import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { customer, delivery } from '../support/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

it('what a program that knows nothing of counts deletes, or deletes and inserts again, is counted once', async () => {
  const path = join(tempFolder(), 'teslim.db')
  const { store } = await openStore(loadConfig({ DATABASE_URL: `sqlite:${path}` }).config, 0)
  const one = customer()
  await store.customers.insert(one)
  for (let n = 0; n < 7; n++) await store.deliveries.deliver(delivery(one.id, { receivedAt: n }))
  await store.rollUps.count(1)
  const range = { customerId: one.id, from: 0, to: 1, hoursEach: 1 }
  const counted = async (look: number) => (await store.rollUps.read(range, look)).deliveries[0]?.byStatus[1]
  const raw = new DatabaseSync(path)
  raw.exec('DELETE FROM delivery WHERE position IN (1, 5, 3)')
  expect([await counted(0), await counted(100)]).toEqual([5, 7])
  raw.exec(`
    CREATE TEMP TABLE kept AS SELECT * FROM delivery WHERE position = 6;
    DELETE FROM delivery WHERE position = 6;
    INSERT INTO delivery SELECT * FROM kept`)
  raw.close()
  expect([await counted(0), await counted(100)]).toEqual([6, 7])
  expect([await store.rollUps.count(100), await counted(0)]).toEqual([1, 7])
  await store.close()
})
