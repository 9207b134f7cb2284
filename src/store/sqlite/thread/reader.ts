import { Worker } from 'node:worker_threads'
import type { ReadOperations } from './read-operations.ts'
import { createWorkerClient, type WorkerClient } from './worker-client.ts'

/** The thread for whatever walks through many rows, so that the request thread never waits for it. */
export type Reader = WorkerClient<ReadOperations>

export type SpawnWorker = (path: string) => Worker

const spawnWorker: SpawnWorker = (path) =>
  new Worker(new URL('./reader-worker.ts', import.meta.url), { workerData: { path } })

export const createReader = (path: string, spawn: SpawnWorker = spawnWorker): Reader =>
  createWorkerClient({ name: 'reader', spawn: () => spawn(path), patienceMilliseconds: Number.POSITIVE_INFINITY })
