import { parentPort, workerData } from 'node:worker_threads'
import { answerOperations } from './operations.ts'
import { openReading } from './reading.ts'

if (parentPort) answerOperations(parentPort, openReading(workerData.path))
