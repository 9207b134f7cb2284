import fastifyPlugin from 'fastify-plugin'
import type { PluginWith } from '#src/http/parts.ts'
import { AppError } from '#src/lib/app-error.ts'
import { bounded, few, message, type Text } from '#src/lib/messages/message.ts'
import { newId } from '#src/lib/random.ts'
import { once } from '#src/lib/shared-work.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { Action } from './action-names.ts'
import { createRecordAction, type RecordAction, whyNotRecorded } from './actions.ts'
import type { RefusedDelivery } from './refusal-window.ts'
import { type Behind, createRefusals, MAX_MESSAGE_LENGTH } from './refusals.ts'
import { createRefusedBodies } from './refused-bodies.ts'
import { createRetention } from './retention.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The action under which the audit log records who is known and has no right to this route. */
    readonly forbiddenAs?: Action
    /** Finds key and order of a refused delivery. Called after the refusal, so that a delivery that succeeds pays nothing. */
    readonly refusedDelivery?: (
      request: FastifyRequest,
      part?: Buffer,
    ) => { readonly keyId: string | null; readonly findOrderId: () => string | null }
  }
  interface FastifyInstance {
    /** Returns what records the actions of the operator who sends a request: who it was, from where, and with which request. */
    recordFor: (request: FastifyRequest) => RecordAction
    /** Writes the refusals that wait to be written. Only tests wait for it: a read must not wait for a disk that hangs. */
    flushRefusals: () => Promise<void>
    /** Refusals that could not be written and wait; undefined if there are none. */
    refusalsBehind: () => Behind | undefined
  }
}

const plugin: PluginWith<'config' | 'store' | 'clock' | 'random' | 'metrics'> = async (app, options) => {
  const { config, store, clock, random, metrics } = options
  const { audit, refused } = store
  const makeId = (now: number): string => newId(now, random)
  const refusals = createRefusals(audit, clock, makeId, (error) =>
    app.log.warn({ err: error }, 'refusals could not be written to the audit log'),
  )
  const retention = createRetention(audit, clock, config.auditDays, (error) =>
    app.log.warn({ err: error }, 'old events of the audit log could not be deleted'),
  )
  app.decorate('recordFor', ({ access, address, id: requestId }) =>
    createRecordAction({
      audit,
      clock,
      actor: `console:${access.customer.email}`,
      request: { address, requestId },
      onFailed(action, error) {
        app.log.warn({ requestId, action, err: error }, 'an action is done, but could not be written to the audit log')
        const reason = `${action} is done, but could not be written to the audit log: ${whyNotRecorded(error)}`
        throw new AppError(storeErrors.unavailable, { message: message('ACTION_NOT_RECORDED'), reason })
      },
    }),
  )
  const onFailed = (error: unknown): void =>
    app.log.warn({ err: error }, 'refused bodies could not be written or deleted')
  const bodies = config.keepRefused === 'known' ? createRefusedBodies({ refused, metrics, onFailed }) : undefined
  // Also deletes bodies that were kept before the setting was changed.
  const bodyRetention = createRetention(refused, clock, config.refusedDays, onFailed)
  app.decorate('refusalsBehind', refusals.behind)
  app.decorate('flushRefusals', async () => {
    await Promise.all([refusals.flush(), bodies?.flush()])
  })

  app.onRefusal((request, error, part) => {
    const { refusedAs, forbiddenAs, refusedDelivery } = request.routeOptions.config
    const own = refusedAs ?? error.details.recordedAs
    const action = own ?? (error.kind === 'forbidden' ? forbiddenAs : undefined)
    // A request that did not arrive whole was broken off, not refused.
    if (action === undefined || isFault(error) || request.raw.readableAborted) return
    const { customerId, address, id: requestId } = request
    const refused = refusedDelivery?.(request, part)
    const keyId = refused?.keyId ?? error.details.keyId ?? null
    const reason = own === undefined ? `${request.method} ${request.routeOptions.url}` : reasonOf(error)
    const refusal = { action, errorCode: error.code, reason, customerId, keyId, address, requestId }
    if (refused === undefined) {
      refusals.record(refusal)
      return
    }
    const delivery = once(
      (): RefusedDelivery => ({
        message: bounded(error.text, MAX_MESSAGE_LENGTH),
        orderId: refused.findOrderId(),
      }),
    )
    const refusalId = refusals.record({ ...refusal, delivery })
    // A body is read only after its key was accepted.
    const body = part ?? request.body
    if (bodies === undefined || customerId === null || !Buffer.isBuffer(body) || body.length === 0) return
    bodies.record(body.length, () => {
      const now = clock.now()
      return {
        ...delivery(),
        refusalId: refusalId ?? makeId(now),
        at: now,
        customerId,
        keyId: keyId ?? '',
        errorCode: error.code,
        requestId,
        address,
        // A copy, as the buffer may be a part of a larger one, which would stay in memory with it.
        payload: new Uint8Array(body),
      }
    })
  })

  app.readiness.onceOpen(() => {
    retention.start()
    bodyRetention.start()
  })
  app.addHook('onClose', async () => {
    await Promise.all([retention.stop(), bodyRetention.stop(), refusals.close(), bodies?.close()])
  })
}

/** Faults of the service are in the log, not in the audit log. */
const isFault = ({ kind }: AppError): boolean => kind === 'internal' || kind === 'unavailable' || kind === 'overloaded'

const MAX_PROBLEMS = 3

/** Safe to store: problems contain field paths and refused product codes, nothing else from the request. */
function reasonOf({ details: { reason, problems = [] } }: AppError): Text | null {
  if (reason !== undefined || problems.length === 0) return reason ?? null
  const all = problems.map(({ path, message: problem }) =>
    path === '' ? problem : message('PROBLEM_AT', { path, problem }),
  )
  return message('PROBLEMS', { problems: few(all, MAX_PROBLEMS) })
}

export const auditPlugin = fastifyPlugin(plugin, { name: 'audit', dependencies: ['token'] })
