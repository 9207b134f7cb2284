import { parentPort, workerData } from 'node:worker_threads'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { openDatabase } from '../database.ts'
import { changeOf } from '../store-file.ts'
import { answerMessages } from './worker-messages.ts'
import { writeOperations } from './write-operations.ts'
import type { WriterData } from './writer.ts'

if (parentPort) {
  const { path, files } = workerData as WriterData
  const database = openDatabase(path)
  // What was written into a file that is no longer the store must not be confirmed.
  answerMessages(parentPort, database, writeOperations(database), () => {
    const reason = changeOf(files)
    if (reason !== undefined) throw new AppError(storeErrors.gone, { reason })
  })
}
