import type { MessagePort } from 'node:worker_threads'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { auditWrites } from '../audit.ts'
import { type Database, openDatabase } from '../database.ts'
import type { DeliveryBatch } from '../deliveries/batch.ts'
import { deliveryWrites } from '../deliveries/writes.ts'
import { loginFailureWrites } from '../login-failures.ts'
import { boundNouns } from '../nouns.ts'
import { purgeWrites } from '../purges/writes.ts'
import { refusedWrites } from '../refused.ts'
import { rollUpWrites } from '../roll-ups.ts'
import { changeOf } from '../store-file.ts'
import { webhookLeases } from '../webhooks/leases.ts'
import { webhookProgress } from '../webhooks/progress.ts'
import { wipeAttempts } from '../webhooks/wipe-attempts.ts'
import { webhookWrites } from '../webhooks/writes.ts'
import { type Checkpoints, createCheckpoints } from './checkpoints.ts'
import { answerOperations, bindOperations } from './operations.ts'
import type { WriterData } from './writer.ts'

const operationsOn = (database: Database, checkpoints: Checkpoints) => ({
  ...boundNouns(database),
  deliveries: deliveryWrites(database, checkpoints.admitDeliveries),
  purges: bindOperations(purgeWrites, database),
  rollUps: bindOperations(rollUpWrites, database),
  audit: bindOperations(auditWrites, database),
  refused: bindOperations(refusedWrites, database),
  loginFailures: bindOperations(loginFailureWrites, database),
  webhooks: bindOperations({ ...webhookWrites, ...webhookLeases, ...webhookProgress, wipeAttempts }, database),
  /** Takes the lock that a delivery needs and, if `durable`, writes a page without changing anything. */
  ping: {
    probe(durable: boolean, wasFull: boolean) {
      checkpoints.admitProbe(wasFull)
      database.transaction(() => {
        if (durable) database.run('UPDATE account_version SET number = number')
      })
    },
  },
})

/** Answers the writer's operations, with a connection of its own. */
export function serveWrites(port: MessagePort, { path, files }: WriterData): void {
  const database = openDatabase(path)
  const checkpoints = createCheckpoints(database)
  const operations = operationsOn(database, checkpoints)
  answerOperations(port, database, operations, {
    admit: checkpoints.admit,
    together: {
      noun: 'deliveries',
      name: 'deliverBatch',
      run: (batches) => operations.deliveries.deliverBatches(batches as readonly DeliveryBatch[]),
    },
    confirm() {
      // A commit to a file that is no longer the store must not be confirmed.
      const reason = changeOf(files)
      if (reason !== undefined) throw new AppError(storeErrors.gone, { reason })
      checkpoints.afterCommit()
    },
    onClose: checkpoints.close,
  })
}
