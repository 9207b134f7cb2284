import { AsyncLocalStorage } from 'node:async_hooks'
import type { Attributes, Span, SpanContext } from '@opentelemetry/api'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Variables } from '#src/config/load-config.ts'
import { readTraceSettings } from '#src/config/trace-settings.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { type Steps, type Tracing, tracing } from '#src/lib/tracing.ts'
import { VERSION } from '#src/lib/version.ts'
import { createExportLog } from './export-log.ts'
import { createSampler } from './sampler.ts'

declare module 'fastify' {
  interface FastifyRequest {
    span: Span | null
  }
}

type Traces = ReturnType<typeof createTraces>

/** Loads OpenTelemetry. Without its packages it warns, and there are no traces. */
export async function startTraces(
  variables: Variables,
  log: FastifyBaseLogger,
  clock: Clock,
): Promise<Traces | undefined> {
  const packages = await loadPackages().catch((error: NodeJS.ErrnoException) => error)
  if (!(packages instanceof Error)) return createTraces(packages, variables, log, clock)
  if (packages.code !== 'ERR_MODULE_NOT_FOUND') throw packages
  log.warn(
    'OTEL_EXPORTER_OTLP_ENDPOINT is set, but there are no traces: the packages of OpenTelemetry are not installed: run npm ci',
  )
  return undefined
}

async function loadPackages() {
  const [api, sdk, resources, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
  ])
  return { api, sdk, resources, OTLPTraceExporter }
}

type Packages = Awaited<ReturnType<typeof loadPackages>>

function createTraces(packages: Packages, variables: Variables, log: FastifyBaseLogger, clock: Clock) {
  const { api, sdk, OTLPTraceExporter } = packages
  const settings = readTraceSettings(variables, (message) => log.warn(message))
  const silent = (): void => undefined
  const warn = (message: string): void => log.warn(message)
  // Reports wrong variables, but later no more than the log of the exporter does.
  api.diag.setLogger({ error: warn, warn, info: silent, debug: silent, verbose: silent })
  const exporter = createExportLog(new OTLPTraceExporter(), log)
  const provider = new sdk.TracerProvider({
    sampler: createSampler(packages, settings, clock),
    resource: resourceOf(packages),
    spanProcessors: [new sdk.BatchSpanProcessor({ ...settings.queue, exporter })],
  })
  api.diag.disable()
  const tracer = provider.getTracer('teslim', VERSION)
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api
  const current = new AsyncLocalStorage<Span>()

  const fail = (span: Span, error: unknown): void => {
    span.setStatus({ code: SpanStatusCode.ERROR })
    span.setAttribute('error.type', error instanceof AppError ? error.code : 'INTERNAL')
  }

  const begin: Tracing['begin'] = (name) => {
    const span = current.getStore()
    if (span === undefined) return undefined
    const context = trace.setSpan(ROOT_CONTEXT, span)
    let step = tracer.startSpan(name, {}, context)
    const steps: Steps = {
      next(following) {
        step.end()
        step = tracer.startSpan(following, {}, context)
      },
      end(error) {
        if (error !== undefined) fail(step, error)
        step.end()
      },
    }
    return steps
  }

  const beginRequest = (request: FastifyRequest): Span => {
    const { routeOptions, id, headers } = request
    const route = routeOptions.url
    const method = METHODS.has(request.method) ? request.method : OTHER_METHOD
    const parent = settings.takesParent ? parentIn(headers.traceparent, headers.tracestate) : undefined
    const context = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent)
    const verb = method === OTHER_METHOD ? 'HTTP' : method
    const span = tracer.startSpan(route ? `${verb} ${route}` : verb, { kind: SpanKind.SERVER }, context)
    // Given to startSpan, they would be read for requests that are not recorded, too.
    if (span.isRecording()) {
      span.setAttributes({ 'http.request.method': method, 'teslim.request_id': id, ...addressOf(request) })
      if (method === OTHER_METHOD) span.setAttribute('http.request.method_original', request.method)
      if (route) span.setAttribute('http.route', route)
    }
    return span
  }

  const parentIn = (traceparent: unknown, tracestate: unknown): SpanContext | undefined => {
    if (traceparent === undefined) return undefined
    const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(String(traceparent)) ?? []
    const traceFlags = Number.parseInt(flags, 16) & 1
    const state = typeof tracestate === 'string' ? { traceState: api.createTraceState(tracestate) } : {}
    const parent: SpanContext = { traceId, spanId, traceFlags, isRemote: true, ...state }
    return trace.isSpanContextValid(parent) ? parent : undefined
  }

  const endRequest = (span: Span, { errorCode }: FastifyRequest, { raw }: FastifyReply): void => {
    if (raw.headersSent) span.setAttribute('http.response.status_code', raw.statusCode)
    if (errorCode !== null) span.setAttribute('teslim.error_code', errorCode)
    if (raw.statusCode >= 500) {
      span.setStatus({ code: SpanStatusCode.ERROR })
      span.setAttribute('error.type', errorCode ?? String(raw.statusCode))
    }
    span.end()
  }

  tracing.current = { begin }
  return {
    /** Records every request of the app. Called after the request log is installed and before anything else. */
    install(app: FastifyInstance) {
      app.decorateRequest('span', null)
      app.addHook('onRequest', (request, reply, done) => {
        const span = beginRequest(request)
        const { traceId, spanId } = span.spanContext()
        request.span = span
        request.traceFields = `,"trace_id":"${traceId}","span_id":"${spanId}"`
        if (span.isRecording()) reply.raw.on('close', () => endRequest(span, request, reply))
        done()
      })
      // The body arrives outside of what `run` covers, so it begins after that.
      app.addHook('preHandler', ({ span }, _reply, done) => (span?.isRecording() ? current.run(span, done) : done()))
    },
    /** Sends what is finished, for no longer than the time given. */
    async stop(milliseconds: number) {
      tracing.current = undefined
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(() => {
        log.warn('the last traces may be lost: the collector has not taken them in time')
        late.resolve()
      }, milliseconds)
      await Promise.race([provider.shutdown().catch(() => undefined), late.promise])
      clearTimeout(timer)
    },
  }
}

/** Others count as one, so that a client cannot make names of spans: the conventions ask for it. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT'])
const OTHER_METHOD = '_OTHER'

/** Where the caller sent the request, without the URL (decision 26). */
function addressOf({ protocol, hostname, port, raw }: FastifyRequest): Attributes {
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  return {
    'url.scheme': protocol,
    'network.protocol.version': raw.httpVersion,
    ...(address !== '' && { 'server.address': address, 'server.port': port ?? DEFAULT_PORTS[protocol] }),
  }
}

const DEFAULT_PORTS = { http: 80, https: 443 }

/** W3C Trace Context: a later version may have more fields. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/

function resourceOf({ resources }: Packages) {
  const { defaultResource, detectResources, resourceFromAttributes } = resources
  const ours = resourceFromAttributes({ 'service.name': 'teslim', 'service.version': VERSION })
  const named = [resources.resourceAttributesEnvDetector, resources.serviceNameEnvDetector]
  return defaultResource()
    .merge(ours)
    .merge(detectResources({ detectors: [resources.serviceInstanceIdDetector, ...named] }))
}
