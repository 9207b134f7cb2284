import type { FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import type { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { AuditStore } from '#src/store/store.ts'
import { createRefusals, type Refusals } from './refusals.ts'
import { createRetention, type Retention } from './retention.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The action under which refusals of a route are in the audit log; those of other routes are not. */
    readonly refusedAs?: string
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
}

const plugin: FastifyPluginAsync<AuditOptions> = async (app, { config, audit, clock }) => {
  const refusals = createRefusals(audit, clock, (error) =>
    app.log.warn({ err: error }, 'refusals could not be written to the audit log'),
  )
  const retention = createRetention(audit, clock, config.auditDays, (error) =>
    app.log.warn({ err: error }, 'old events of the audit log could not be deleted'),
  )
  app.decorate('refusals', refusals)
  app.decorate('auditRetention', retention)

  app.onRefusal((request, error) => {
    const action = request.routeOptions.config.refusedAs
    // What did not arrive whole was broken off, by the client or by the end of the process, and not refused.
    if (action === undefined || isFault(error) || request.raw.readableAborted) return
    const { customerId, address, id: requestId } = request
    refusals.record({ action, errorCode: error.code, reason: reasonOf(error), customerId, address, requestId })
  })

  app.addHook('onReady', async () => retention.start())
  app.addHook('onClose', async () => {
    retention.stop()
    await refusals.close()
  })
}

/** Of ours, not of the request: the log has it. */
const isFault = ({ kind }: AppError): boolean => kind === 'internal' || kind === 'unavailable' || kind === 'overloaded'

const MOST_PROBLEMS = 3

/** Of what was sent, problems name products that are not allowed, and nothing else. */
function reasonOf({ details: { reason, problems = [] } }: AppError): string | null {
  if (reason !== undefined || problems.length === 0) return reason ?? null
  const named = problems.slice(0, MOST_PROBLEMS).map(({ path, message }) => `${path} ${message}`.trim())
  const more = problems.length - named.length
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join('; ')
}

export const auditPlugin = fastifyPlugin(plugin, { name: 'audit' })
