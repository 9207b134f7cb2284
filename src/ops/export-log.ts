import type { SpanExporter } from '@opentelemetry/sdk-trace'
import type { FastifyBaseLogger } from 'fastify'

const SUCCESS = 0

/** Logs one line when traces cannot be sent and one when they can again, instead of one for each attempt. */
export function createExportLog(exporter: SpanExporter, log: FastifyBaseLogger): SpanExporter {
  let lost = 0
  return {
    export: (spans, done) =>
      exporter.export(spans, ({ code, error }) => {
        if (code === SUCCESS && lost > 0) {
          log.info({ lost }, 'traces arrive again')
          lost = 0
        } else if (code !== SUCCESS) {
          if (lost === 0) log.warn({ reason: error?.message }, 'traces are lost: the collector does not take them')
          lost += spans.length
        }
        done({ code: SUCCESS })
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}
