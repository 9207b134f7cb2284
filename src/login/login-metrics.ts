import type { AppError } from '#src/lib/app-error.ts'
import type { Metrics } from '#src/lib/metrics.ts'
import type { HashQueue } from './hashing.ts'
import { loginErrors } from './login.errors.ts'

const OUTCOMES = ['ok', 'refused', 'throttled', 'overloaded', 'invalid', 'failed'] as const

type Outcome = (typeof OUTCOMES)[number]

const BY_CODE: Readonly<Record<string, Outcome | undefined>> = {
  [loginErrors.refused.code]: 'refused',
  [loginErrors.throttled.code]: 'throttled',
}

export function createLoginMetrics(metrics: Metrics, queue: HashQueue) {
  const logins = metrics.counter(
    'teslim_logins_total',
    'Logins by outcome: refused are wrong credentials, invalid are requests that were none.',
  )
  for (const outcome of OUTCOMES) logins({ outcome })
  metrics.gauge('teslim_login_hash_queue', 'Logins that wait for their password to be hashed.', queue.waiting)
  return {
    succeeded: (): void => void logins({ outcome: 'ok' }).value++,
    refused: (error: AppError): void => void logins({ outcome: outcomeOf(error) }).value++,
  }
}

function outcomeOf({ code, kind }: AppError): Outcome {
  const known = BY_CODE[code]
  if (known !== undefined) return known
  if (kind === 'overloaded') return 'overloaded'
  return kind === 'internal' || kind === 'unavailable' ? 'failed' : 'invalid'
}
