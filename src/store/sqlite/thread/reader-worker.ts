import { parentPort, workerData } from 'node:worker_threads'
import { serveReads } from './reading.ts'

if (parentPort) serveReads(parentPort, workerData.path)
