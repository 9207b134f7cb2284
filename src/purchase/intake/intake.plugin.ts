import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { scanJson } from '#src/http/body/parsers.ts'
import { failures, success, successSchema } from '#src/http/envelope.ts'
import { invalidRequest } from '#src/http/error-handler.ts'
import { AppError, type Problem } from '#src/lib/app-error.ts'
import { type Clock, isoMilliseconds } from '#src/lib/clock.ts'
import { newId } from '#src/lib/ids.ts'
import type { Metrics } from '#src/lib/metrics/metrics.ts'
import type { Random } from '#src/lib/random.ts'
import type { DeliveryStore, Receipt } from '#src/store/store.ts'
import { createDeliveryReader } from '../delivery-body.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { STATUS_MEANINGS } from '../status.ts'
import { createDeliver, type IncomingDelivery } from './intake.rule.ts'
import {
  IDEMPOTENCY_KEY,
  PurchaseBodySchema,
  PurchaseHeadersSchema,
  purchaseExamples,
  ReceiptSchema,
} from './intake.schema.ts'
import { type Allowance, createRateLimit } from './rate-limit.ts'

export interface PurchaseOptions {
  readonly config: Config
  readonly deliveries: DeliveryStore
  readonly clock: Clock
  readonly random: Random
  readonly metrics: Metrics
}

/** The credentials of a delivery, by `TESLIM_PURCHASE_BEARER`. */
const CREDENTIALS = {
  optional: [{ ApiKey: [] }, { ApiKey: [], bearer: [] }],
  required: [{ ApiKey: [], bearer: [] }],
  ignored: [{ ApiKey: [] }],
}

const plugin: FastifyPluginAsyncTypebox<PurchaseOptions> = async (app, options) => {
  const { config, deliveries, clock, random, metrics } = options
  const countDelivery = deliveryCounts(metrics)
  const takeAllowance = createRateLimit(config.rateLimit, clock)
  const reader = createDeliveryReader(config)
  const deliver = createDeliver({
    deliveries,
    clock,
    newId: (now) => newId(now, random),
    idempotencyDays: config.idempotencyDays,
    productPointers: config.productPointers,
  })

  const identifySupplier: onRequestHookHandler = (request, reply, done) => {
    // Fastify refuses a malformed Content-Type, and here any will do (docs/decisions/0027-any-content-type.md).
    request.headers['content-type'] = undefined
    app.identifySupplier(request, (refusal) => {
      done(refusal ?? refusalBy(takeAllowance(request.supplier.key), reply))
    })
  }

  const readDelivery = ({ body, headers }: FastifyRequest): IncomingDelivery => {
    const facts = reader.facts(scanJson(body, reader.scan))
    if ('problems' in facts) throw invalidRequest(facts.problems)
    const idempotencyKey = headers['idempotency-key'] as string | undefined
    if (idempotencyKey !== undefined && !IDEMPOTENCY_KEY.test(idempotencyKey)) {
      const message = 'must be 1 to 255 visible ASCII characters'
      throw invalidRequest([{ path: 'headers/idempotency-key', message }])
    }
    return { ...facts, payload: body as Buffer, idempotencyKey }
  }

  const schema = {
    summary: 'Update purchase order',
    operationId: 'purchaseUpdate',
    tags: ['Purchase'],
    description:
      'Delivers a purchase order and answers once the delivery is durable. Accepts any Content-Type. If API keys are limited, RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset (seconds) tell the allowance.',
    security: CREDENTIALS[config.purchaseBearer],
    errors: [
      'API_KEY_MISSING',
      'API_KEY_INVALID',
      ...(config.purchaseBearer === 'ignored' ? [] : ['TOKEN_FOREIGN']),
      'PRODUCT_NOT_AUTHORIZED',
      'RATE_LIMITED',
    ],
    bodyExamples: purchaseExamples,
    headers: PurchaseHeadersSchema,
    body: PurchaseBodySchema,
    response: {
      200: successSchema(ReceiptSchema, 'The receipt'),
      ...failures(400, 401, 403, 413, 415, 422, 429, 500, 503),
    },
  }

  app.post('/Purchase/update', {
    schema,
    config: { refusedAs: 'delivery.refused' },
    // The schema is the contract; readDelivery judges by it, without building a value.
    validatorCompiler: () => () => true,
    onRequest: identifySupplier,
    handler: async (request) => {
      const delivery = readDelivery(request as FastifyRequest)
      const receipt = await deliver(request.supplier, delivery)
      countDelivery(receipt)
      return answer(receipt, delivery)
    },
  })
}

/** Returns a function that counts a delivery. All series are there from the start. */
function deliveryCounts(metrics: Metrics): (receipt: Receipt) => void {
  const deliveries = metrics.counter('teslim_deliveries_total', 'Deliveries that got a receipt, by Status.')
  const counts = STATUS_MEANINGS.map((_, status) => ({
    first: deliveries({ status: String(status), duplicate: 'false' }),
    duplicate: deliveries({ status: String(status), duplicate: 'true' }),
  }))
  return ({ status, duplicate }) => {
    const count = counts[status]?.[duplicate ? 'duplicate' : 'first']
    if (count !== undefined) count.value++
  }
}

function answer({ receiptId, status, orderId, duplicate, receivedAt }: Receipt, { oddities }: IncomingDelivery) {
  return success({
    ReceiptID: receiptId,
    Status: status,
    ...(orderId !== null && { OrderID: orderId }),
    Duplicate: duplicate,
    ReceivedAt: isoMilliseconds(receivedAt),
    ...(oddities.length > 0 && { Warnings: oddities.map(inWords) }),
  })
}

const inWords = ({ path, message }: Problem): string => `${path || 'The body'} ${message}.`

/** Puts the allowance into the headers of the answer; returns an error if it is used up. */
function refusalBy(allowance: Allowance | undefined, reply: FastifyReply): AppError | undefined {
  if (allowance === undefined) return undefined
  const { allowed, limit, remaining, resetSeconds, retrySeconds } = allowance
  reply.headers({ 'ratelimit-limit': limit, 'ratelimit-remaining': remaining, 'ratelimit-reset': resetSeconds })
  if (allowed) return undefined
  return new AppError(purchaseErrors.rateLimited, {
    message: `This API key may make ${limit} deliveries a minute. Nothing was stored; send the request again in ${retrySeconds} s.`,
    retryAfterSeconds: retrySeconds,
  })
}

export const purchasePlugin = fastifyPlugin(plugin, {
  name: 'purchase',
  dependencies: ['suppliers'],
  encapsulate: true,
})
