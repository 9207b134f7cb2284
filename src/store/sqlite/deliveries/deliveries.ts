import { AppError } from '#src/lib/app-error.ts'
import { createBatcher } from '#src/lib/batcher.ts'
import { monotonicMilliseconds } from '#src/lib/clock.ts'
import { REFUSALS } from '#src/store/sql/deliveries/deliveries.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { DeliveryStore, NewDelivery, QueueLimits, Receipt } from '#src/store/store.ts'
import { type Connections, sqliteNoun } from '../nouns.ts'
import { createPacker, type RowOutcome } from './batch.ts'
import { findCustomer, judge } from './judge.ts'

/** Half of the time that a request has left after the longest wait. */
const MAX_GRACE_MILLISECONDS = 1000

interface SqliteDeliveries extends DeliveryStore {
  drained(): Promise<void>
}

export function sqliteDeliveries(connections: Connections, limits: QueueLimits): SqliteDeliveries {
  const { database, writer } = connections
  const pack = createPacker(writer.memories)
  const watchers = new Set<() => void>()
  // Gives a batch that leaves the queue at the last moment time to be written.
  const grace = Math.min(MAX_GRACE_MILLISECONDS, limits.maxWaitMilliseconds / 2)
  const batcher = createBatcher<NewDelivery, Receipt>({
    ...limits,
    bytesOf: ({ payload }) => payload.length,
    whenFull: () => new AppError(storeErrors.overloaded),
    monotonic: monotonicMilliseconds,
    async commit(deliveries, deadline) {
      const args = [pack(deliveries)]
      const outcomes = await writer.run<RowOutcome[] | undefined>('deliveries', 'deliverBatch', args, deadline + grace)
      for (const onCommit of watchers) onCommit()
      return deliveries.map((delivery, index) => outcomeOf(delivery, outcomes?.[index] ?? null))
    },
  })

  return {
    ...sqliteNoun('deliveries', connections),
    deliver: batcher.submit,
    async findDuplicate(delivery) {
      // Of one state of the store, though it takes several statements.
      const judged = database.savepoint(() => judge(database, findCustomer(database, delivery.customerId), delivery))
      if (typeof judged === 'string') throw new AppError(REFUSALS[judged])
      return 'receiptId' in judged ? judged : judged.repeated
    },
    watch(onCommit) {
      watchers.add(onCommit)
      return () => void watchers.delete(onCommit)
    },
    load: batcher.load,
    drained: () => batcher.drained(),
  }
}

function outcomeOf(delivery: NewDelivery, outcome: RowOutcome): Receipt | Error {
  if (outcome === null) {
    const { receiptId, orderId, status, receivedAt } = delivery
    return { receiptId, orderId, status, receivedAt, duplicate: false }
  }
  if (typeof outcome === 'string') return new AppError(REFUSALS[outcome])
  return 'fault' in outcome ? new Error(outcome.fault) : outcome
}
