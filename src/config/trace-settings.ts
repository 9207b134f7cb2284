import type { Variables } from './load-config.ts'

/** The values of those standard OTEL_* variables that the SDK does not read itself. */
export type TraceSettings = ReturnType<typeof readTraceSettings>

const SAMPLERS = ['always_on', 'always_off', 'traceidratio']
const DEFAULT_SAMPLER = 'parentbased_always_on'

const QUEUE: Readonly<Record<string, string>> = {
  OTEL_BSP_SCHEDULE_DELAY: 'scheduledDelayMillis',
  OTEL_BSP_EXPORT_TIMEOUT: 'exportTimeoutMillis',
  OTEL_BSP_MAX_QUEUE_SIZE: 'maxQueueSize',
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: 'maxExportBatchSize',
}

const hasEndpoint = (variables: Variables): boolean =>
  Boolean(variables.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || variables.OTEL_EXPORTER_OTLP_ENDPOINT)

const isTurnedOff = ({ OTEL_SDK_DISABLED = '', OTEL_TRACES_EXPORTER = '' }: Variables): boolean =>
  OTEL_SDK_DISABLED.toLowerCase() === 'true' || OTEL_TRACES_EXPORTER.toLowerCase() === 'none'

/** Whether the variables ask for traces. Everything else of tracing is loaded only then. */
export const wantsTraces = (variables: Variables): boolean => hasEndpoint(variables) && !isTurnedOff(variables)

/** Says why there are no traces although an exporter is named. */
export const noteOnTraces = (variables: Variables): string[] =>
  variables.OTEL_TRACES_EXPORTER && !hasEndpoint(variables) && !isTurnedOff(variables)
    ? ['OTEL_TRACES_EXPORTER is set, but there are no traces: OTEL_EXPORTER_OTLP_ENDPOINT says where to send them']
    : []

/** Calls `warn` for each variable whose value means nothing here, and then uses the default, as the specification asks. */
export function readTraceSettings(variables: Variables, warn: (message: string) => void) {
  const refuse = (variable: string, instead: string): void =>
    warn(`${variable}: ${JSON.stringify(variables[variable])} is not supported, ${instead}`)

  const named = variables.OTEL_TRACES_SAMPLER || DEFAULT_SAMPLER
  const isKnown = SAMPLERS.includes(named.replace(/^parentbased_/, ''))
  if (!isKnown) refuse('OTEL_TRACES_SAMPLER', `${DEFAULT_SAMPLER} is used`)
  /** Starts with `parentbased_` or not. */
  const sampler = isKnown ? named : DEFAULT_SAMPLER

  const written = variables.OTEL_TRACES_SAMPLER_ARG || '1'
  const isRatio = Number(written) >= 0 && Number(written) <= 1
  if (!isRatio && sampler.endsWith('traceidratio')) refuse('OTEL_TRACES_SAMPLER_ARG', 'every request is sampled')

  for (const variable of ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'])
    if (!/^(?:http\/protobuf)?$/.test(variables[variable] ?? '')) refuse(variable, 'http/protobuf is used')

  if (!/^(?:otlp)?$/i.test(variables.OTEL_TRACES_EXPORTER ?? '')) refuse('OTEL_TRACES_EXPORTER', 'otlp is used')

  const propagators = variables.OTEL_PROPAGATORS || 'tracecontext'
  /** Whether a `traceparent` header is taken over. */
  const takesParent = /\btracecontext\b/.test(propagators)
  if (!takesParent && propagators !== 'none') refuse('OTEL_PROPAGATORS', 'every request begins a trace of its own')

  /** Options of the queue of finished spans; those that are not set have the SDK's defaults. */
  const queue: Record<string, number> = {}
  for (const [variable, option] of Object.entries(QUEUE)) {
    const value = variables[variable] || undefined
    if (value === undefined) continue
    if (/^[1-9]\d{0,8}$/.test(value)) queue[option] = Number(value)
    else refuse(variable, 'the default is used')
  }
  return { sampler, ratio: isRatio ? Number(written) : 1, takesParent, queue }
}
