import { Worker } from 'node:worker_threads'
import { createWorkerClient, type WorkerClient } from './worker-client.ts'
import type { Operations } from './write-operations.ts'

/** The one thread that writes to the file. What is asked of it is answered once it is committed. */
export type Writer = WorkerClient<Operations>

export type SpawnWorker = (path: string) => Worker

const spawnWorker: SpawnWorker = (path) =>
  new Worker(new URL('./writer-worker.ts', import.meta.url), { workerData: { path } })

export const createWriter = (path: string, spawn: SpawnWorker = spawnWorker): Writer =>
  createWorkerClient('writer', () => spawn(path))
