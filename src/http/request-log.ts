import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Countable, classOf, type ErrorDefinition } from '#src/lib/app-error.ts'
import { type Clock, isoMilliseconds } from '#src/lib/clock.ts'
import { type Count, type Histogram, type Metrics, SECONDS } from '#src/lib/metrics.ts'
import type { Reservation } from './body/budget.ts'
import { noteUnfinished, statusOfBroken } from './connections/broken-request.ts'
import { httpErrors } from './http.errors.ts'
import { clientAddress } from './request-head.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The action under which the metrics count refusals of this route, and the audit log records them. Without it they are not recorded. */
    readonly refusedAs?: `${string}.refused`
  }
  interface FastifyRequest {
    /** The client's address, kept because a closed connection no longer has one. */
    address: string
    /** When its headers had arrived, by the monotonic clock. */
    startedAt: number
    /** For the log line: the customer, the error code, and a reason that the caller does not get. */
    customerId: string | null
    errorCode: string | null
    refusal: string | null
    /** The memory of the body; released when the request ends. */
    bodyReservation: Reservation | null
    /** Whether the answer is an event stream, which lasts as long as its reader wants. */
    isStream: boolean
    /** For the log line, as JSON with a comma before it; empty without traces. */
    traceFields: string
  }
}

/** Logs and counts each request, with the route's pattern instead of the URL, which may hold a secret. */
export function installRequestLog(
  app: FastifyInstance,
  clock: Clock,
  requests: RequestMetrics,
  writeInfo: (line: string) => void,
): void {
  app.decorateRequest('address', '')
  app.decorateRequest('startedAt', 0)
  app.decorateRequest('customerId', null)
  app.decorateRequest('errorCode', null)
  app.decorateRequest('refusal', null)
  app.decorateRequest('bodyReservation', null)
  app.decorateRequest('isStream', false)
  app.decorateRequest('traceFields', '')

  app.addHook('onRoute', ({ url, method, schema = {}, config }) => {
    // Files of the API reference page have none.
    if (!('operationId' in schema)) return
    for (const name of [method].flat()) requests.expect(url, name, config?.refusedAs)
  })
  app.onRefusal(({ raw, routeOptions }, error) => {
    const isGone = raw.readableAborted || raw.socket.destroyed
    if (!isGone) requests.refused(routeOptions.config.refusedAs, error)
  })

  app.addHook('onRequest', (request, reply, done) => {
    request.address = clientAddress(request)
    request.startedAt = clock.monotonic()
    // "close" comes after the answer, and also if the client disconnects before it.
    reply.raw.on('close', () => {
      const milliseconds = clock.monotonic() - request.startedAt
      const route = request.routeOptions.url
      writeInfo(requestLine(request, reply, route, milliseconds, isoMilliseconds(clock.now())))
      const { headersSent, statusCode } = reply.raw
      requests.answered(
        route,
        request.method,
        headersSent ? statusCode : (statusOfBroken(request.raw) ?? 0),
        request.isStream ? undefined : milliseconds,
      )
      if (!request.raw.complete) noteUnfinished(request.raw)
      request.bodyReservation?.release()
      request.answerReservation?.release()
    })
    done()
  })
}

/** Built by hand, because every delivery pays for it. Only the request id and the reason can need escaping. */
function requestLine(
  request: FastifyRequest,
  reply: FastifyReply,
  route: string | undefined,
  milliseconds: number,
  time: string,
): string {
  const { method, address, customerId, errorCode, refusal } = request
  const aborted = reply.raw.writableEnded ? '' : ',"aborted":true'
  const reason = refusal === null ? '' : `,"reason":${JSON.stringify(refusal)}`
  return `{"level":30,"time":"${time}","requestId":${escaped(request.id)},"method":"${method}","route":${quoted(route ?? null)},"status":${reply.statusCode},"durationMs":${milliseconds.toFixed(2)},"customerId":${quoted(customerId)},"errorCode":${quoted(errorCode)}${reason}${aborted},"address":"${address}"${request.traceFields},"msg":"request"}\n`
}

/** An id that the client chose is all of visible ASCII. */
const escaped = (id: string): string => (/["\\]/.test(id) ? JSON.stringify(id) : quoted(id))

const quoted = (text: string | null): string => (text === null ? 'null' : `"${text}"`)

/** Counts answers by route, method and status, and refusals by their codes. */
export type RequestMetrics = ReturnType<typeof createRequestMetrics>

/** Other methods count as `other`, and what reaches no route as the route `unknown`: a client cannot make series. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const OTHER = METHODS.length
const NO_ROUTE = 'unknown'

interface RouteMetrics {
  readonly durations: Histogram
  /** By `status * 8 + method`. */
  readonly counts: Map<number, Count>
}

export function createRequestMetrics(metrics: Metrics) {
  const requests = metrics.counter('teslim_http_requests_total', 'Answered requests.')
  const durations = metrics.histogram(
    'teslim_http_request_duration_seconds',
    'Time from the head of a request to the end of its answer, without event streams.',
    SECONDS,
  )
  const refusals = metrics.counter(
    'teslim_refusals_total',
    'Answers with an error code, by action of the audit log, and by what the code is about.',
  )
  const countOfRefusal = (action: string, error: Countable): Count =>
    refusals({ action, code: error.code, class: classOf(error) })
  const routes = new Map<string, RouteMetrics>()
  const refused = new Map<string, Map<string, Count>>()
  const actions = new Set<string>()

  const metricsOf = (route: string): RouteMetrics => {
    const known = routes.get(route)
    if (known !== undefined) return known
    const made = { durations: durations({ route }), counts: new Map() }
    routes.set(route, made)
    return made
  }

  const countOf = ({ counts }: RouteMetrics, route: string, method: number, status: number): Count => {
    const key = status * 8 + method
    const known = counts.get(key)
    if (known !== undefined) return known
    const made = requests({
      method: METHODS[method] ?? 'other',
      route,
      status: status === 0 ? 'aborted' : String(status),
    })
    counts.set(key, made)
    return made
  }

  return {
    /** Makes the series of a route appear before its first request, so that the first failure is an increase. */
    expect(route: string, method: string, action: string | undefined = 'other') {
      if (method === 'HEAD') return
      for (const status of [200, 500, 503]) countOf(metricsOf(route), route, indexOf(method), status)
      actions.add(action)
    },
    /** Does so with the series of refusals, under the actions of all routes. The errors are those of routes, besides `http/`. */
    expectRefusals(errors: readonly ErrorDefinition[]) {
      for (const action of actions)
        for (const error of [...errors, ...Object.values(httpErrors)]) countOfRefusal(action, error)
    },
    /** `status` is 0 if the client left before the answer. Without `milliseconds` only counts. */
    answered(route: string | undefined = NO_ROUTE, method: string, status: number, milliseconds?: number) {
      const ofRoute = metricsOf(route)
      countOf(ofRoute, route, indexOf(method), status).value++
      if (milliseconds !== undefined) ofRoute.durations.observe(milliseconds / 1000)
    },
    refused(action: string | undefined = 'other', error: Countable) {
      const count = countOfRefusal(action, error)
      count.value++
      const ofAction = refused.get(action) ?? new Map()
      refused.set(action, ofAction.set(error.code, count))
    },
    /** Refusals under an action so far, by error code, without codes that never occurred. */
    refusalsOf: (action: string) => refused.get(action) ?? new Map(),
    /** How long answers of a route took. */
    durationsOf: (route: string) => metricsOf(route).durations,
    /** Answered requests so far, and those with a status of 500 or more. */
    totals() {
      let [all, failed] = [0, 0]
      for (const { counts } of routes.values()) {
        for (const { value } of counts.values()) all += value
        for (const [key, { value }] of counts) if (key >= 8 * 500) failed += value
      }
      return { requests: all, failed }
    },
  }
}

const indexOf = (method: string): number => {
  const index = METHODS.indexOf(method)
  return index < 0 ? OTHER : index
}
