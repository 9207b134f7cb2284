import type { Sampler } from '@opentelemetry/sdk-trace'
import type { TraceSettings } from '#src/config/trace-settings.ts'
import type { Clock } from '#src/lib/clock.ts'

interface Packages {
  readonly api: Pick<typeof import('@opentelemetry/api'), 'trace'>
  readonly sdk: typeof import('@opentelemetry/sdk-trace')
}

/**
 * Requests a second that callers may have recorded beyond the sampler's own share. A caller chooses the flag and the trace id of its
 * `traceparent`; without a limit anybody could fill the collector with them.
 */
const CHOSEN_BY_CALLERS = 100

/** Makes the sampler that the settings name, with a limit to what callers choose. */
export function createSampler(
  { api, sdk }: Packages,
  { sampler, ratio }: Pick<TraceSettings, 'sampler' | 'ratio'>,
  clock: Clock,
): Sampler {
  const name = sampler.replace(/^parentbased_/, '')
  const share = { always_on: 1, always_off: 0 }[name] ?? ratio
  const root = new sdk.TraceIdRatioBasedSampler(share)
  const inner = name === sampler ? root : new sdk.ParentBasedSampler({ root })
  let allowed = CHOSEN_BY_CALLERS
  let refilledAt = clock.monotonic()

  return {
    shouldSample(context, ...rest) {
      const result = inner.shouldSample(context, ...rest)
      if (api.trace.getSpanContext(context)?.isRemote !== true) return result
      const now = clock.monotonic()
      const refill = ((now - refilledAt) / 1000) * CHOSEN_BY_CALLERS
      refilledAt = now
      allowed = Math.min(CHOSEN_BY_CALLERS, allowed + refill + share)
      if (result.decision !== sdk.SamplingDecision.RECORD_AND_SAMPLED) return result
      if (allowed < 1) return { decision: sdk.SamplingDecision.NOT_RECORD }
      allowed--
      return result
    },
    toString: () => inner.toString(),
  }
}
