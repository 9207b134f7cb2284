import { parentPort, workerData } from 'node:worker_threads'
import { answerOperations } from './operations.ts'
import type { WriterData } from './writer.ts'
import { openWriting } from './writing.ts'

if (parentPort) answerOperations(parentPort, openWriting(workerData as WriterData))
