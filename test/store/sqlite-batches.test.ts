import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { newId } from '#src/lib/ids.ts'
import { systemRandom } from '#src/lib/random.ts'
import type { Settled } from '#src/lib/worker/answer.ts'
import { openDatabase } from '#src/store/sqlite/database.ts'
import { type BatchOutcome, createPacker } from '#src/store/sqlite/deliveries/batch.ts'
import { deliveryWrites } from '#src/store/sqlite/deliveries/writes.ts'
import type { NewDelivery } from '#src/store/store.ts'
import { createStoreWith } from '../support/create-store.ts'
import { customer } from '../support/store-rows.ts'
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

/** Without a span that has no positions: where it begins means nothing. */
function told(settled: Settled) {
  if ('error' in settled) return settled
  const { outcomes, span } = settled.result as BatchOutcome
  return { outcomes, span: span !== null && span.to > span.from ? span : null }
}

async function openWrites() {
  const path = join(tempFolder(), 'batches.db')
  await createStoreWith(`sqlite:${path}`, [ours])
  const database = openDatabase(path)
  const rows = () =>
    database.all('SELECT hex(receipt) AS receipt, order_id, status, echo_of, payload FROM delivery ORDER BY position')
  return { database, writes: deliveryWrites(database, () => undefined), rows }
}

it('batches of several threads that are stored together end as if each had come alone, also with faults', async () => {
  const together = await openWrites()
  const alone = await openWrites()
  fc.assert(
    fc.property(fc.array(deliveries, { minLength: 2, maxLength: 4 }), (drawn) => {
      const batches = drawn.map((batch) => batch.map(newDelivery))
      const pack = createPacker(batches.length)
      const outcomes = together.writes.deliverBatches(batches.map((batch) => pack(batch)))
      const expected = batches.map((batch) => ({ result: alone.writes.deliverBatch(createPacker(1)(batch)) }))
      expect(outcomes.map(told)).toEqual(expected.map(told))
      expect(together.rows()).toEqual(alone.rows())
    }),
  )
  together.database.close()
  alone.database.close()
})

it('one commit stores them all', async () => {
  const { database, writes } = await openWrites()
  let commits = 0
  const transaction: typeof database.transaction = (work) => {
    commits++
    return database.transaction(work)
  }
  const counted = deliveryWrites({ ...database, transaction }, () => undefined)
  const pack = createPacker(3)
  const batches = ['A', 'B', 'C'].map((orderId) =>
    pack([newDelivery({ customerId: ours.id, orderId, status: 1, body: '{}', key: null })]),
  )
  expect(counted.deliverBatches(batches)).toEqual(
    [1, 2, 3].map((to) => ({ result: { outcomes: null, span: { from: to - 1, to } } })),
  )
  expect(commits).toBe(1)
  expect(writes.deliverBatches([])).toEqual([])
  database.close()
})
