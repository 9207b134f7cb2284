import { parentPort, workerData } from 'node:worker_threads'
import { openDatabase } from '../database.ts'
import { readOperations } from './read-operations.ts'
import { answerMessages } from './worker-messages.ts'

if (parentPort) {
  const database = openDatabase(workerData.path, { readOnly: true })
  answerMessages(parentPort, database, readOperations(database))
}
