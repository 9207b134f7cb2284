import { parentPort, workerData } from 'node:worker_threads'
import { openDatabase } from '../database.ts'
import { deliveryReads } from '../deliveries/reads.ts'
import { answerOperations, bindOperations } from './operations.ts'

if (parentPort) {
  const database = openDatabase(workerData.path, { readOnly: true })
  answerOperations(parentPort, database, { deliveries: bindOperations(deliveryReads, database) })
}
