import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { newId, systemRandom } from '#src/lib/random.ts'
import { openDatabase } from '#src/store/sqlite/database.ts'
import { createMemories, createPacker, type RowOutcome } from '#src/store/sqlite/deliveries/batch.ts'
import { deliveryWrites } from '#src/store/sqlite/deliveries/writes.ts'
import type { NewDelivery } from '#src/store/store.ts'
import { createStoreWith } from '../support/store/create-store.ts'
import { customer } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

const ours = customer()

/** What one of a few suppliers may deliver: few orders, bodies and keys, so that there are echoes and retries. */
const deliveries = fc.array(
  fc.record({
    customerId: fc.constantFrom(ours.id, ours.id, ours.id, 'nobody'),
    orderId: fc.constantFrom('A', 'B', null),
    status: fc.nat(3),
    body: fc.constantFrom('{"n":1}', '{"n":2}'),
    key: fc.constantFrom('k1', 'k2', null, null),
  }),
  { minLength: 1, maxLength: 6 },
)

const newDelivery = (
  drawn: { body: string; key: string | null } & Pick<NewDelivery, 'customerId' | 'orderId' | 'status'>,
) => {
  const { customerId, orderId, status, body, key } = drawn
  return {
    customerId,
    orderId,
    status,
    receiptId: newId(1000, systemRandom),
    receivedAt: 1000,
    idempotency: key === null ? null : { key, notBefore: 0 },
    payload: Buffer.from(body),
    origin: null,
  } satisfies NewDelivery
}

async function openWrites() {
  const path = join(tempFolder(), 'batches.db')
  await createStoreWith(`sqlite:${path}`, [ours])
  const database = openDatabase(path)
  const memories = createMemories()
  const pack = createPacker(memories)
  const { deliverBatch } = deliveryWrites(database, memories, () => undefined)
  const deliver = (batch: readonly NewDelivery[]): RowOutcome[] => deliverBatch(pack(batch)) ?? batch.map(() => null)
  const rows = () =>
    database.all('SELECT hex(receipt) AS receipt, order_id, status, echo_of, payload FROM delivery ORDER BY position')
  return { deliver, rows, close: database.close }
}

it('the deliveries of a batch end as if each had come alone, also with faults', async () => {
  const batches = await openWrites()
  const alone = await openWrites()
  fc.assert(
    fc.property(deliveries, (drawn) => {
      const batch = drawn.map(newDelivery)
      expect(batches.deliver(batch)).toEqual(batch.flatMap((delivery) => alone.deliver([delivery])))
      expect(batches.rows()).toEqual(alone.rows())
    }),
  )
  batches.close()
  alone.close()
})

it('a delivery that is larger than the memory of a batch is stored, and so is the next', async () => {
  const { deliver, rows, close } = await openWrites()
  const large = newDelivery({ customerId: ours.id, orderId: 'A', status: 1, body: '', key: null })
  const payload = Buffer.alloc(3_000_000, 'x')
  const small = newDelivery({ customerId: ours.id, orderId: 'B', status: 1, body: '{}', key: null })
  deliver([{ ...large, payload }])
  deliver([small])
  expect(rows().map((row) => Buffer.from(row.payload as Uint8Array))).toEqual([payload, small.payload])
  close()
})
