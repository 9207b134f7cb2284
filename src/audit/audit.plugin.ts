import type { FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import type { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { newId } from '#src/lib/ids.ts'
import type { Random } from '#src/lib/random.ts'
import type { AuditStore } from '#src/store/store.ts'
import type { Action } from './actions.ts'
import type { RefusedDelivery } from './refusal-window.ts'
import { createRefusals, type Refusals } from './refusals.ts'
import { createRetention, type Retention } from './retention.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The action under which the audit log records refusals of this route; without it they are not recorded. */
    readonly refusedAs?: Action
    /** Finds key and order of a refused delivery. Called after the refusal, so that a delivery that succeeds pays nothing. */
    readonly refusedDelivery?: (request: FastifyRequest) => Omit<RefusedDelivery, 'message'>
  }
  interface FastifyInstance {
    refusals: Refusals
    auditRetention: Retention
  }
}

export interface AuditOptions {
  readonly config: Config
  readonly audit: AuditStore
  readonly clock: Clock
  readonly random: Random
}

const plugin: FastifyPluginAsync<AuditOptions> = async (app, { config, audit, clock, random }) => {
  const refusals = createRefusals({
    audit,
    clock,
    newId: (now) => newId(now, random),
    onFailed: (error) => app.log.warn({ err: error }, 'refusals could not be written to the audit log'),
  })
  const retention = createRetention(audit, clock, config.auditDays, (error) =>
    app.log.warn({ err: error }, 'old events of the audit log could not be deleted'),
  )
  app.decorate('refusals', refusals)
  app.decorate('auditRetention', retention)

  app.onRefusal((request, error) => {
    const { refusedAs: action, refusedDelivery } = request.routeOptions.config
    // A request that did not arrive whole was broken off, not refused.
    if (action === undefined || isFault(error) || request.raw.readableAborted) return
    const { customerId, address, id: requestId } = request
    const refusal = { action, errorCode: error.code, reason: reasonOf(error), customerId, address, requestId }
    const delivery =
      refusedDelivery &&
      (() => {
        const { keyId, orderId } = refusedDelivery(request)
        return { message: error.message, keyId: keyId ?? error.details.keyId ?? null, orderId }
      })
    refusals.record({ ...refusal, ...(delivery && { delivery }) })
  })

  app.addHook('onReady', async () => retention.start())
  app.addHook('onClose', async () => {
    retention.stop()
    await refusals.close()
  })
}

/** Faults of the service are in the log, not in the audit log. */
const isFault = ({ kind }: AppError): boolean => kind === 'internal' || kind === 'unavailable' || kind === 'overloaded'

const MOST_PROBLEMS = 3

/** Safe to store: problems contain field paths and refused product codes, nothing else from the request. */
function reasonOf({ details: { reason, problems = [] } }: AppError): string | null {
  if (reason !== undefined || problems.length === 0) return reason ?? null
  const named = problems.slice(0, MOST_PROBLEMS).map(({ path, message }) => `${path} ${message}`.trim())
  const more = problems.length - named.length
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join('; ')
}

export const auditPlugin = fastifyPlugin(plugin, { name: 'audit' })
