import { Worker } from 'node:worker_threads'
import type { WatchedFile } from '../store-file.ts'
import { createWorkerClient, type WorkerClient } from './worker-client.ts'
import type { Operations } from './write-operations.ts'

/** The one thread that writes to the file. What is asked of it is answered once it is committed. */
export type Writer = WorkerClient<Operations>

export interface WriterData {
  readonly path: string
  /** Those that the process opened first. */
  readonly files: readonly WatchedFile[]
}

export type SpawnWriter = (workerData: WriterData) => Worker

const spawnWorker: SpawnWriter = (workerData) =>
  new Worker(new URL('./writer-worker.ts', import.meta.url), { workerData })

export interface WriterOptions extends WriterData {
  readonly spawn?: SpawnWriter | undefined
  /** Told when what is written no longer reaches the store. */
  readonly onGone?: (reason: string) => void
  /** In milliseconds. */
  readonly patience?: number | undefined
}

const PATIENCE_MILLISECONDS = 10_000

export const createWriter = ({ path, files, spawn = spawnWorker, onGone, patience }: WriterOptions): Writer =>
  createWorkerClient({
    name: 'writer',
    spawn: () => spawn({ path, files }),
    patienceMilliseconds: patience ?? PATIENCE_MILLISECONDS,
    onGone,
  })
