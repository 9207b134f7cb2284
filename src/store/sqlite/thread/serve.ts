import { AppError, reasonOf } from '#src/lib/app-error.ts'
import { monotonicMilliseconds } from '#src/lib/clock.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { type Database, openDatabase } from '../database.ts'
import { deliveryWrites } from '../deliveries/writes.ts'
import { boundNouns } from '../nouns.ts'
import { changeOf } from '../store-file.ts'
import { type Checkpoints, createCheckpoints } from './checkpoints.ts'
import type { Performer, ThreadData } from './store-thread.ts'

type Nouns = Readonly<Record<string, object>>
type Operation = (...args: readonly unknown[]) => unknown

const writesOn = (database: Database, checkpoints: Checkpoints, memories: readonly SharedArrayBuffer[]): Nouns => ({
  ...boundNouns(database),
  deliveries: deliveryWrites(database, memories, checkpoints.admitDeliveries),
  /** Takes the lock that a delivery needs and, if `durable`, writes a page without changing anything. */
  ping: {
    probe(durable: boolean, wasFull: boolean) {
      checkpoints.admitProbe(wasFull)
      database.transaction(() => {
        if (!durable) return
        // A page whose bytes stay the same is not written: this changes it there and back.
        database.run('UPDATE account_version SET number = number + 1')
        database.run('UPDATE account_version SET number = number - 1')
      })
    },
  },
})

/** Performs the operations of the writer, which watches its files, or of the reader. */
export function openPerformer({ path, files, memories = [] }: ThreadData): Performer {
  const database = openDatabase(path, { readOnly: files === undefined })
  const checkpoints = files && createCheckpoints(database)
  const nouns = checkpoints ? writesOn(database, checkpoints, memories) : boundNouns(database)
  const startedAt = monotonicMilliseconds()
  let gone: AppError | undefined

  return {
    perform([noun, name, args, askedAt, deadline]) {
      if (gone !== undefined) throw gone
      // On a busy machine a thread may take seconds to start; what waited for that is not late.
      const until = deadline + Math.max(0, startedAt - askedAt)
      if (monotonicMilliseconds() >= until)
        throw new AppError(storeErrors.unavailable, { reason: 'earlier operations took too long' })
      checkpoints?.admit()
      database.waitForLockUntil(until)
      const operation = (nouns[noun] as Record<string, Operation>)[name] as Operation
      const result = operation(...args)
      // A commit to a file that is no longer the store must not be confirmed.
      const reason = files && changeOf(files)
      if (reason !== undefined) throw new AppError(storeErrors.gone, { reason })
      checkpoints?.afterCommit()
      return result
    },
    failureOf(error) {
      if (!(error instanceof AppError)) return { kind: 'defect', message: String((error as Error).stack) }
      if (error.code === storeErrors.gone.code) gone = error
      return { kind: error === gone ? 'gone' : 'unavailable', message: reasonOf(error) }
    },
    needsTurn: () => checkpoints?.needsTurn() === true,
    async close() {
      await checkpoints?.close()
      database.close()
    },
  }
}
