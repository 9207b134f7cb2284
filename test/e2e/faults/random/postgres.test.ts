import { it } from 'vitest'
import { runFaults, TIMEOUT_MILLISECONDS } from './run.ts'

it(
  'faults drawn at random cost no delivery on PostgreSQL, and each is over soon after it has ended',
  { timeout: TIMEOUT_MILLISECONDS },
  () => runFaults('postgres'),
)
