import { parentPort, workerData } from 'node:worker_threads'
import { openDatabase } from './database.ts'
import { answerMessages } from './worker-messages.ts'
import { writeOperations } from './write-operations.ts'

if (parentPort) {
  const database = openDatabase(workerData.path)
  answerMessages(parentPort, database, writeOperations(database))
}
