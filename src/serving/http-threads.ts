import { Worker } from 'node:worker_threads'
import { type ThreadSamples, within } from '#src/lib/metrics/metrics.ts'
import { sharedWork } from '#src/lib/shared-work.ts'
import type { StoreShare } from '#src/store/open-store.ts'
import type { FromThread, ThreadData, ToThread } from './thread-messages.ts'

/** Threads that take requests beside the main thread (docs/decisions/0038-threads-over-one-file.md). */
export interface HttpThreads {
  /** Resolves when all of them listen; rejects if one cannot. */
  readonly ready: Promise<unknown>
  /** Makes `/readyz` of each fail. */
  leave(): void
  reloadCertificate(): void
  /** Resolves to what each has counted; to what it had counted before if it is too busy to answer. */
  samples(): Promise<readonly ThreadSamples[]>
  /** Brings the lines of the log that wait in them, before the process ends at once. */
  handOverLog(): Promise<void>
  /** Ends them when their requests are answered, or after the time given. */
  stop(milliseconds: number): Promise<void>
}

export const NO_THREADS: HttpThreads = {
  ready: Promise.resolve(),
  leave: () => undefined,
  reloadCertificate: () => undefined,
  samples: async () => [],
  handOverLog: async () => undefined,
  stop: async () => undefined,
}

export interface HttpThreadsOptions {
  readonly count: number
  readonly data: Omit<ThreadData, 'commits'>
  readonly share: StoreShare
  readonly write: (lines: string) => void
  /** Called when a thread ends by itself. */
  readonly onDeath: (cause: string) => void
}

const THREAD = new URL('./http-thread.ts', import.meta.url)
const SAMPLES_MILLISECONDS = 1000
const HAND_OVER_MILLISECONDS = 200

export function startHttpThreads(options: HttpThreadsOptions): HttpThreads {
  const threads = Array.from({ length: options.count }, () => startThread(options))
  const tellAll = (message: ToThread): void => {
    for (const { tell } of threads) tell(message)
  }
  return {
    ready: Promise.all(threads.map(({ ready }) => ready)),
    leave: () => tellAll({ type: 'leave' }),
    reloadCertificate: () => tellAll({ type: 'reload' }),
    samples: sharedWork(() => Promise.all(threads.map(({ sample }) => sample()))),
    handOverLog: async () => void (await Promise.all(threads.map(({ handOverLog }) => handOverLog()))),
    stop: async (milliseconds) => void (await Promise.all(threads.map(({ stop }) => stop(milliseconds)))),
  }
}

function startThread({ data, share, write, onDeath }: HttpThreadsOptions) {
  const worker = new Worker(THREAD, {
    name: 'http',
    workerData: { ...data, commits: share.commits } satisfies ThreadData,
  })
  const { promise: ready, resolve: isReady, reject: failed } = Promise.withResolvers<void>()
  const { promise: gone, resolve: isGone } = Promise.withResolvers<void>()
  let state: 'starting' | 'serving' | 'stopping' = 'starting'
  let samples: ThreadSamples = {}
  let sampled = Promise.withResolvers<void>()
  const { promise: handedOver, resolve: hasHandedOver } = Promise.withResolvers<void>()

  const died = (error: Error): void => {
    if (state === 'starting') failed(error)
    else if (state === 'serving') onDeath(error.message)
    isReady()
  }
  worker.on('message', (message: FromThread) => {
    if (message.type === 'log') write(message.lines)
    else if (message.type === 'join') share.admit(message.port)
    else if (message.type === 'samples') {
      samples = message.samples
      sampled.resolve()
    } else if (message.type === 'handed-over') hasHandedOver()
    else if (message.type === 'stopped') void worker.terminate()
    else {
      if (state === 'starting') state = 'serving'
      isReady()
    }
  })
  worker.on('error', died)
  worker.on('exit', (code) => {
    isGone()
    died(new Error(`it ended with ${code}`))
  })
  const tell = (message: ToThread): void => worker.postMessage(message)

  return {
    ready,
    tell,
    async sample(): Promise<ThreadSamples> {
      sampled = Promise.withResolvers()
      tell({ type: 'sample' })
      await within(SAMPLES_MILLISECONDS, sampled.promise).catch(() => undefined)
      return samples
    },
    async handOverLog(): Promise<void> {
      if (state === 'starting') return
      tell({ type: 'hand-over' })
      await within(HAND_OVER_MILLISECONDS, Promise.race([handedOver, gone])).catch(() => undefined)
    },
    async stop(milliseconds: number): Promise<void> {
      const was = state
      state = 'stopping'
      if (was === 'serving') tell({ type: 'stop', milliseconds })
      else void worker.terminate()
      await gone
    },
  }
}
