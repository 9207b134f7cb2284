import { Worker } from 'node:worker_threads'
import { createStoreThread, type Performer, type StoreThread } from './operations.ts'

export type SpawnReader = (path: string) => Worker

const spawnWorker: SpawnReader = (path) =>
  new Worker(new URL('./worker.ts', import.meta.url), { name: 'reader', workerData: { path } })

const IDLE_MILLISECONDS = 60_000

/** The thread for reads that walk through many rows, so that the request thread never waits for them. */
export const createReader = (
  path: string,
  { spawn = spawnWorker, here }: { spawn?: SpawnReader | undefined; here?: ((path: string) => Performer) | undefined },
): StoreThread =>
  createStoreThread({
    name: 'reader',
    spawn: () => spawn(path),
    here: here && (() => here(path)),
    patienceMilliseconds: Number.POSITIVE_INFINITY,
    idleMilliseconds: IDLE_MILLISECONDS,
  })
