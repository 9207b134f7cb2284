import { it } from 'vitest'
import { runFaults, TIMEOUT_MILLISECONDS } from './run.ts'

const isLinux = process.platform === 'linux'
if (!isLinux) console.info('skipped: memory and what is left behind are read from /proc')

it.runIf(isLinux)(
  'faults drawn at random lose, double and reorder nothing on the embedded store, which stores deliveries soon after each',
  { timeout: TIMEOUT_MILLISECONDS },
  () => runFaults('sqlite'),
)
