import { lookup } from 'node:dns/promises'
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { settings } from '#src/config/settings.ts'
import { prefersOpenMetrics } from '#src/http/answers/accept.ts'
import { schemaController } from '#src/http/validation.ts'
import type { Format, Metrics } from '#src/lib/metrics.ts'
import { cannotListen } from '#src/lib/net/cannot-listen.ts'
import { sharedWork } from '#src/lib/shared-work.ts'
import { describeEventLoop, describeGarbageCollection, describeHeap, describeProcess } from './process-metrics.ts'
import { describeService, type ServiceMetricsDependencies } from './service-metrics.ts'

export type Ops = FastifyInstance

interface OpsDependencies extends Omit<ServiceMetricsDependencies, 'server'> {
  readonly metrics: Metrics
  readonly app: Pick<FastifyInstance, 'server' | 'loopDelay'>
}

const CONTENT_TYPES: Record<Format, string> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

const PLAIN = 'text/plain; charset=utf-8'
const MAX_CONNECTIONS = 64
/** Short, so that idle connections cannot keep a scrape away for long. */
const KEEP_ALIVE_MILLISECONDS = 5000

/** Builds the second server, for monitoring only: no token, no request log, nothing but these addresses. */
export function buildOps({ metrics, app, ...dependencies }: OpsDependencies): Ops {
  const { clock, checkReady } = dependencies
  describeService(metrics, { ...dependencies, server: app.server })
  describeProcess(metrics, clock.now())
  describeHeap(metrics)
  describeEventLoop(metrics, app.loopDelay, clock)
  const endCounting = describeGarbageCollection(metrics)
  const scrape = sharedWork(
    (format: Format) => metrics.text(format),
    (format) => format,
  )

  // Fastify loads node:http without its HTTP client; an import would load that too, a tenth of the start.
  const ops = Fastify({
    exposeHeadRoutes: false,
    schemaController,
    requestTimeout: 10_000,
    keepAliveTimeout: KEEP_ALIVE_MILLISECONDS,
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 5_000 },
    forceCloseConnections: true,
  })
  ops.server.maxConnections = MAX_CONNECTIONS
  ops.addHook('onClose', async () => endCounting())

  ops.get('/metrics', async (request, reply) => {
    const format: Format = prefersOpenMetrics(request.headers.accept) ? 'openmetrics' : 'text'
    reply.header('content-type', CONTENT_TYPES[format])
    return scrape(format)
  })
  // Whoever restarts what fails /healthz, as in Kubernetes' own examples, must not do so because the store is away.
  for (const url of ['/livez', '/healthz']) ops.get(url, async (_request, reply) => reply.type(PLAIN).send('ok\n'))
  ops.get('/readyz', async (_request, reply) => {
    try {
      await checkReady()
      return reply.type(PLAIN).send('ok\n')
    } catch (error) {
      return reply
        .code(503)
        .type(PLAIN)
        .send(`${(error as Error).message}\n`)
    }
  })
  ops.setNotFoundHandler((_request, reply) =>
    reply.code(404).type(PLAIN).send('There are GET /metrics, /livez, /readyz and /healthz here, and nothing else.\n'),
  )
  return ops
}

/**
 * Makes the second server listen; resolves to its address. The default port in use is a warning only, because two servers
 * started without thinking of it should both serve.
 */
export async function listenForOps(
  ops: Ops,
  { opsHost: host, opsPort: port, port: apiPort }: Pick<Config, 'opsHost' | 'opsPort' | 'port'>,
  log: FastifyBaseLogger,
): Promise<string | undefined> {
  const isDefault = port === settings.opsPort.default
  const doWithout = async (): Promise<undefined> => {
    await ops.close()
    log.warn(`no metrics: the port ${port} is in use; set TESLIM_OPS_PORT to another one, or to 0 for none`)
  }
  // The API listens later.
  if (isDefault && port === apiPort) return doWithout()
  try {
    const { address } = await lookup(host, { order: 'ipv4first' })
    return await ops.listen({ host: address, port })
  } catch (error) {
    if (isDefault && (error as NodeJS.ErrnoException).code === 'EADDRINUSE') return doWithout()
    throw cannotListen(error, `${host}:${port} for metrics`, 'TESLIM_OPS_PORT')
  }
}
