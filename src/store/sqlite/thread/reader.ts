import { Worker } from 'node:worker_threads'
import type { Peer } from '#src/lib/worker/client.ts'
import { createStoreThread, type StoreThread } from './operations.ts'

export type SpawnReader = (path: string) => Peer

const spawnWorker: SpawnReader = (path) =>
  new Worker(new URL('./reader-worker.ts', import.meta.url), { name: 'reader', workerData: { path } })

const IDLE_MILLISECONDS = 60_000

/** The thread for reads that walk through many rows, so that the request thread never waits for them. */
export const createReader = (path: string, spawn: SpawnReader = spawnWorker): StoreThread =>
  createStoreThread({
    name: 'reader',
    spawn: () => spawn(path),
    patienceMilliseconds: Number.POSITIVE_INFINITY,
    idleMilliseconds: IDLE_MILLISECONDS,
  })
