import { afterAll, describe, expect, inject, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Receipt, Store } from '#src/store/store.ts'
import { type Pooler, pgbouncer, startPgbouncer } from '../support/pgbouncer.ts'
import { newDatabase } from '../support/postgres-server.ts'
import { customer, delivery, describeStore } from './store-conformance.ts'

const open = async (url: string) =>
  (await openStore(loadConfig({ DATABASE_URL: url, TESLIM_DATABASE_POOL: '4' }).config, 0)).store

if (pgbouncer === undefined) it.skip('(no pgbouncer is installed here, so nothing is tested behind one)')
else {
  describe(`behind PgBouncer ${pgbouncer} in transaction mode`, async () => {
    const pooler: Pooler = await startPgbouncer(await newDatabase(inject('postgresUrl')))
    afterAll(() => pooler.remove())

    describeStore('postgres', () => open(pooler.url))

    it('replicas that share its connections store every delivery once', async () => {
      const stores = await Promise.all([open(pooler.url), open(pooler.url), open(pooler.url)])
      const who = customer()
      await stores[0]?.customers.insert(who)
      const receipts: Receipt[] = []
      const deliverMany = async (store: Store, replica: number): Promise<void> => {
        for (let round = 0; round < 40; round++) {
          const many = Array.from({ length: 8 }, (_, order) => delivery(who.id, { orderId: `${replica}-${order}` }))
          receipts.push(...(await Promise.all(many.map((one) => store.deliveries.deliver(one)))))
        }
      }
      await Promise.all(stores.map(deliverMany))
      expect(new Set(receipts.map(({ receiptId }) => receiptId)).size).toBe(3 * 40 * 8)
      for (const replica of stores.keys()) {
        expect(await stores[0]?.deliveries.history(who.id, `${replica}-7`)).toHaveLength(40)
      }
      for (const store of stores) await store.close()
    })
  })
}
