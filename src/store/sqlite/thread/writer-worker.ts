import { parentPort, workerData } from 'node:worker_threads'
import type { WriterData } from './writer.ts'
import { serveWrites } from './writing.ts'

if (parentPort) serveWrites(parentPort, workerData as WriterData)
