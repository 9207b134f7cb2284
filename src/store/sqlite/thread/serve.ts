import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { type Database, openDatabase } from '../database.ts'
import { deliveryWrites } from '../deliveries/writes.ts'
import { boundNouns } from '../nouns.ts'
import { changeOf } from '../store-file.ts'
import { type Checkpoints, createCheckpoints } from './checkpoints.ts'
import { createPerformer, type Performer } from './operations.ts'
import type { WriterData } from './writer.ts'

const operationsOn = (database: Database, checkpoints: Checkpoints) => ({
  ...boundNouns(database),
  deliveries: deliveryWrites(database, checkpoints.admitDeliveries),
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

export function openReading(path: string): Performer {
  const database = openDatabase(path, { readOnly: true })
  return createPerformer(database, boundNouns(database))
}
