import { parentPort, workerData } from 'node:worker_threads'
import type { LoadedConfig } from '#src/config/load-config.ts'
import { examine } from '#src/doctor/examine.ts'
import { systemClock } from '#src/lib/clock.ts'
import { systemRandom } from '#src/lib/random.ts'
import type { DoctorMessage } from './doctor-message.ts'

if (parentPort) {
  const port = parentPort
  const tell = (message: DoctorMessage): void => port.postMessage(message)
  const groups = examine(workerData as LoadedConfig, {
    depth: 'quick',
    clock: systemClock,
    random: systemRandom,
    onBegin: (begins) => tell({ begins }),
  })
  for await (const found of groups) tell({ found })
  tell({ done: true })
}
