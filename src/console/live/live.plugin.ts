import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import { prefersEvents } from '#src/http/answers/accept.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import { createEventStreams, eventBytes } from '#src/http/event-streams.ts'
import type { Parts } from '#src/http/parts.ts'
import type { RequestMetrics } from '#src/http/request-log.ts'
import { AppError } from '#src/lib/app-error.ts'
import { consoleErrors } from '../console.errors.ts'
import { createLiveHub, type LiveReader } from './hub.ts'
import { type Frame, LiveEventsSchema, LiveSchema } from './live.schema.ts'

interface LiveOptions extends Pick<Parts, 'config' | 'store' | 'versions' | 'clock'> {
  readonly requests: RequestMetrics
}

const TICK_MILLISECONDS = 1000
const MAX_CONSOLES = 500
/** One operator, or whoever has its token, must not keep the others from looking. */
const MAX_OF_AN_OPERATOR = 20
const RETRY_SECONDS = 10
const TOO_MANY_OF_AN_OPERATOR = `You have ${MAX_OF_AN_OPERATOR} live views open at this process, as many as one operator may. Close one, or try again later.`

const plugin: FastifyPluginAsyncTypebox<LiveOptions> = async (app, { config, store, versions, clock, requests }) => {
  const hub = createLiveHub({
    deliveries: store.deliveries,
    customers: store.customers,
    endRevoked: app.accessWatch.check,
    accountVersion: versions.version,
    clock,
    store: config.databaseUrl.startsWith('sqlite:') ? 'sqlite' : 'postgres',
    replicas: store.replicas,
    backupAt: store.lastBackupAt,
    latency: app.deliveryLatency.read,
    failed: app.deliveryLatency.failed,
    refusals: () => requests.refusalsOf('delivery.refused'),
    onStoreLost: (error) => app.log.warn({ err: error }, 'live views show no deliveries: the store cannot be read'),
    onStoreBack: () => app.log.info('live views show deliveries again'),
  })
  const streams = createEventStreams(app.bodyBudget.answers)
  const bytesOf = sharedBytes()
  let timer: NodeJS.Timeout | undefined
  /** Goes on while there are readers. Without them one tick counts what was refused in its second. */
  const tick = (): void => {
    void hub.tick()
    if (hub.readers() === 0) stopTicking()
  }
  const beginTicking = (): void => {
    timer ??= setInterval(tick, TICK_MILLISECONDS).unref()
  }
  const stopTicking = (): void => {
    clearInterval(timer)
    timer = undefined
  }
  app.onRefusal(beginTicking)

  const join = (reader: LiveReader): (() => void) => {
    const leave = hub.join(reader)
    beginTicking()
    if (!hub.isCurrent()) void hub.tick()
    return leave
  }

  app.addHook('preClose', async () => streams.close())
  // Requests for one frame are still answered meanwhile.
  app.addHook('onClose', async () => stopTicking())

  const refuseBeyondLimits = (operator: string): void => {
    const more = { retryAfterSeconds: RETRY_SECONDS }
    if (hub.readersOf(operator) >= MAX_OF_AN_OPERATOR)
      throw new AppError(consoleErrors.full, { ...more, message: TOO_MANY_OF_AN_OPERATOR })
    if (hub.readers() >= MAX_CONSOLES) throw new AppError(consoleErrors.full, more)
  }

  const schema = {
    summary: 'Deliveries as they arrive, and how the service is doing',
    operationId: 'operatorLive',
    tags: ['Operator'],
    errors: [consoleErrors.full],
    description:
      'For operators. With `Accept: text/event-stream` one frame a second comes as a server-sent event: add up what the frames count. The first frame, and each one after a frame was missed, has `Since` and begins again, with the last 15 minutes but at most 200,000 deliveries. Without that header one frame is the answer.',
    alsoAnswers: { 200: { 'text/event-stream': { schema: LiveEventsSchema } } },
    response: { 200: successSchema(LiveSchema, 'One frame') },
  }

  const routes: FastifyPluginAsyncTypebox = async (app) => {
    app.get('/Operator/live', { schema }, async (request, reply) => {
      const operator = request.access.customer.id
      refuseBeyondLimits(operator)
      if (!prefersEvents(request.headers.accept)) {
        const { promise, resolve } = Promise.withResolvers<Frame>()
        const leave = join({
          operator,
          offer(frame) {
            resolve(frame)
            return true
          },
        })
        reply.raw.on('close', leave)
        return success(await promise.finally(leave))
      }
      const stream = streams.open(reply)
      const leave = join({ operator, offer: (frame) => stream.offer(bytesOf(frame)) })
      const { ended, forget } = app.accessWatch.watch(request.access)
      const over = (): void => {
        leave()
        forget()
      }
      stream.gone.addEventListener('abort', over)
      ended.addEventListener('abort', () => {
        over()
        stream.end()
      })
      return reply
    })
  }
  app.register(app.needs('operate')(routes))
}

/** Makes the bytes of a frame once for all streams. */
function sharedBytes(): (frame: Frame) => Uint8Array {
  const made = new WeakMap<Frame, Uint8Array>()
  return (frame) => {
    const bytes = made.get(frame) ?? eventBytes({ data: JSON.stringify(frame) })
    made.set(frame, bytes)
    return bytes
  }
}

export const livePlugin = fastifyPlugin(plugin, {
  name: 'console-live',
  dependencies: ['token', 'console-health'],
  encapsulate: true,
})
