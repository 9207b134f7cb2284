import type { Worker } from 'node:worker_threads'
import type { LoadedConfig } from '#src/config/load-config.ts'
import type { Check } from '#src/doctor/checks.ts'
import { startThread } from '#src/lib/program-files.ts'
import type { DoctorMessage } from './doctor-message.ts'
import type { Examination } from './examiner.ts'

/** Enough for the accounts of tens of thousands of customers. More ends the thread, and nothing else. */
const MAX_MEGABYTES = 128

const spawnWorker = (loaded: LoadedConfig): Worker =>
  startThread('console/health/doctor-worker', {
    workerData: loaded,
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEGABYTES },
  })

/** Runs the checks of `teslim doctor` in a thread that ends with them (docs/decisions/0031-health-in-a-thread.md). */
export function examineInThread(loaded: LoadedConfig, spawn = spawnWorker): Examination {
  const worker = spawn(loaded)
  const found: Check[] = []
  let underWay = 'settings'
  let done = false
  const { promise: over, resolve, reject } = Promise.withResolvers<void>()
  worker.on('message', (message: DoctorMessage) => {
    if ('begins' in message) underWay = message.begins
    else if ('found' in message) found.push(...message.found)
    else done = true
  })
  worker.on('error', reject)
  worker.on('exit', () => (done ? resolve() : reject(new Error('the thread of the checks was ended'))))
  return { over, found: () => found, underWay: () => underWay, stop: () => void worker.terminate() }
}
