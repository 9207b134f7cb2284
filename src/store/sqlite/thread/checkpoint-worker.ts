import { parentPort, workerData } from 'node:worker_threads'
import { reasonOf } from '#src/lib/app-error.ts'
import { answerRequests } from '#src/lib/worker/answer.ts'
import { openDatabase } from '../database.ts'

if (parentPort) {
  const database = openDatabase(workerData.path)
  answerRequests(parentPort, () => void database.get('PRAGMA wal_checkpoint(PASSIVE)'), {
    failureOf: reasonOf,
    onClose: async () => database.close(),
  })
}
