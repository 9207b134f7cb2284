import { parentPort, workerData } from 'node:worker_threads'
import { answerOperations } from './operations.ts'
import { openReading, openWriting } from './serve.ts'

// Only the writer watches the files.
if (parentPort)
  answerOperations(parentPort, 'files' in workerData ? openWriting(workerData) : openReading(workerData.path))
