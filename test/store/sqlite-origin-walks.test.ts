import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { openDatabase } from '#src/store/sqlite/database.ts'
import { boundNouns } from '#src/store/sqlite/nouns.ts'
import type { DeliveryStore } from '#src/store/store.ts'
import { createStoreWith } from '../support/store/create-store.ts'
import { customer } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

const keyId = '0fa1fd40-d173-7140-8bbb-000000000001'

/** Every second one of twenty large deliveries came with the key. */
const FILL = `
  WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20)
  INSERT INTO delivery (position, receipt, customer, status, received_at, payload, origin)
  SELECT n, randomblob(16), 1, 0, 0, zeroblob(100000), CASE WHEN n % 2 = 0 THEN x'${keyId.replaceAll('-', '')}' ELSE zeroblob(16) END
    FROM numbers;
  PRAGMA wal_checkpoint(TRUNCATE)`

it('SQLite reads no payload to find what came with a key', async () => {
  const path = join(tempFolder(), 'origins.db')
  const owner = customer()
  await createStoreWith(`sqlite:${path}`, [owner])
  const raw = new DatabaseSync(path)
  raw.exec(FILL)
  const pages = raw.prepare(`SELECT pageno FROM dbstat WHERE name = 'delivery' AND pagetype = 'overflow'`).all()
  raw.close()
  const file = openSync(path, 'r+')
  for (const { pageno } of pages) writeSync(file, Buffer.alloc(4096, 255), 0, 4096, (Number(pageno) - 1) * 4096)
  closeSync(file)

  const database = openDatabase(path, { readOnly: true })
  const { after, before, payloads } = boundNouns(database).deliveries as DeliveryStore
  const all = { limit: 100, scan: 100 }
  const wanted = Array.from({ length: 10 }, (_, n) => 2 * (n + 1))
  for (const whose of [{}, { customerId: owner.id }]) {
    const found = await after(0, { ...whose, keyId }, all)
    expect(found.deliveries.map(({ position }) => position)).toEqual(wanted)
    const back = await before(100, { ...whose, keyId }, all)
    expect(back.deliveries.map(({ position }) => position)).toEqual(wanted.toReversed())
  }
  expect(() => payloads([2])).toThrow('cannot reach its storage')
  database.close()
})
