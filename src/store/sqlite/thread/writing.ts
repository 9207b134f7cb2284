import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { apiKeyWrites } from '../api-keys.ts'
import { auditWrites } from '../audit.ts'
import { customerWrites } from '../customers.ts'
import { type Database, openDatabase } from '../database.ts'
import { deliveryWrites } from '../deliveries/writes.ts'
import { loginFailureWrites } from '../login-failures.ts'
import { purgeWrites } from '../purges/writes.ts'
import { refusedWrites } from '../refused.ts'
import { rollUpWrites } from '../roll-ups.ts'
import { secretWrites } from '../secrets.ts'
import { signingKeyWrites } from '../signing-keys.ts'
import { changeOf } from '../store-file.ts'
import { webhookLeases } from '../webhooks/leases.ts'
import { webhookProgress } from '../webhooks/progress.ts'
import { wipeAttempts } from '../webhooks/wipe-attempts.ts'
import { webhookWrites } from '../webhooks/writes.ts'
import { type Checkpoints, createCheckpoints } from './checkpoints.ts'
import { bindOperations, createPerformer, type Performer } from './operations.ts'
import type { WriterData } from './writer.ts'

const operationsOn = (database: Database, checkpoints: Checkpoints) => ({
  customers: bindOperations(customerWrites, database),
  apiKeys: bindOperations(apiKeyWrites, database),
  deliveries: deliveryWrites(database, checkpoints.admitDeliveries),
  purges: bindOperations(purgeWrites, database),
  rollUps: bindOperations(rollUpWrites, database),
  signingKeys: bindOperations(signingKeyWrites, database),
  secrets: bindOperations(secretWrites, database),
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

export function openWriting({ path, files }: WriterData): Performer {
  const database = openDatabase(path)
  const checkpoints = createCheckpoints(database)
  return createPerformer(database, operationsOn(database, checkpoints), {
    admit: checkpoints.admit,
    confirm() {
      // A commit to a file that is no longer the store must not be confirmed.
      const reason = changeOf(files)
      if (reason !== undefined) throw new AppError(storeErrors.gone, { reason })
      checkpoints.afterCommit()
    },
    onClose: checkpoints.close,
  })
}
