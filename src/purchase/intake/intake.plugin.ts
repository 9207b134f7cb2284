import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, onRequestHookHandler } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { newId } from '#src/lib/ids.ts'
import type { Metrics } from '#src/lib/metrics/metrics.ts'
import type { Random } from '#src/lib/random.ts'
import type { VersionWatch } from '#src/lib/version-watch.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { DeliveryStore, Receipt } from '#src/store/store.ts'
import { createDeliveryReader } from '../delivery-body.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { createRefusedDelivery } from '../refused-delivery.ts'
import { createIntake, type Intake } from './intake.rule.ts'
import {
  checkSchema,
  PurchaseQuerySchema,
  purchaseBodySchema,
  purchaseExamples,
  purchaseHeadersSchema,
  receiptSchema,
  validatesOnly,
} from './intake.schema.ts'
import { type Allowance, createRateLimit, type TakeAllowance } from './rate-limit.ts'
import { deliveryCounts, receiptAnswer, validationAnswer } from './receipt-answer.ts'

interface DeliveryRoutes {
  readonly intake: Intake
  readonly countDelivery: (receipt: Receipt) => void
  readonly takeAllowance: TakeAllowance
  readonly deliveryCredentials: readonly Readonly<Record<string, readonly string[]>>[]
}

declare module 'fastify' {
  interface FastifyInstance {
    /** What all routes that take deliveries share. */
    deliveryRoutes: DeliveryRoutes
  }
}

export interface PurchaseOptions {
  readonly config: Config
  readonly deliveries: DeliveryStore
  readonly versions: VersionWatch
  readonly clock: Clock
  readonly random: Random
  readonly metrics: Metrics
}

/** A key that is revoked, or expires, while its body takes longer than this delivers nothing. */
const ASK_AGAIN_MILLISECONDS = 500

/** The credentials of a delivery, by `TESLIM_PURCHASE_BEARER`. */
const CREDENTIALS = {
  optional: [{ ApiKey: [] }, { ApiKey: [], bearer: [] }],
  required: [{ ApiKey: [], bearer: [] }],
  ignored: [{ ApiKey: [] }],
}

const plugin: FastifyPluginAsyncTypebox<PurchaseOptions> = async (app, options) => {
  const { config, deliveries, versions, clock, random, metrics } = options
  const countDelivery = deliveryCounts(metrics)
  const takeAllowance = createRateLimit(config.rateLimit, clock)
  const intake = createIntake({
    deliveries,
    clock,
    newId: (now) => newId(now, random),
    idempotencyDays: config.idempotencyDays,
    productPointers: config.productPointers,
    reader: createDeliveryReader(config),
  })
  const deliveryCredentials = CREDENTIALS[config.purchaseBearer]
  app.decorate('deliveryRoutes', { intake, countDelivery, takeAllowance, deliveryCredentials })

  const identifyAndLimitSupplier: onRequestHookHandler = (request, reply, done) => {
    // Fastify refuses a malformed Content-Type, and here any will do (docs/decisions/0027-any-content-type.md).
    request.headers['content-type'] = undefined
    app.identifySupplier(request, (refusal) => {
      done(refusal ?? refusalBy(takeAllowance(request.supplier.key), reply))
    })
  }

  const schema = {
    summary: 'Update purchase order',
    operationId: 'purchaseUpdate',
    isLimited: true,
    tags: ['Purchase'],
    description: `Delivers a purchase order and answers once the delivery is durable. Accepts any Content-Type. ${limitText(config)} RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset (seconds) tell the allowance of a limited key.`,
    security: deliveryCredentials,
    errors: [purchaseErrors.notAuthorized, purchaseErrors.rateLimited, storeErrors.idempotencyKeyReused],
    bodyExamples: purchaseExamples(config),
    headers: purchaseHeadersSchema(config),
    querystring: PurchaseQuerySchema,
    body: purchaseBodySchema(config),
    response: {
      200: successSchema(
        Type.Union([receiptSchema(config), checkSchema(config)]),
        'The receipt, or the outcome of validateOnly=true',
      ),
    },
  }

  app.post('/Purchase/update', {
    schema,
    config: { refusedAs: 'delivery.refused', refusedDelivery: createRefusedDelivery(config) },
    // The schema is the contract; the intake judges by it, without building a value.
    validatorCompiler: () => () => true,
    onRequest: identifyAndLimitSupplier,
    handler: async (request) => {
      if (clock.monotonic() - request.startedAt > ASK_AGAIN_MILLISECONDS) {
        await versions.makeFresh()
        await app.supplierOf(request)
      }
      const { body, headers, supplier, url, query } = request
      const validates = url.includes('?') && validatesOnly(query)
      const delivery = intake.read(body, headers['idempotency-key'])
      if (validates) return success(validationAnswer(await intake.foresee(supplier, delivery, request), delivery))
      const receipt = await intake.deliver(supplier, delivery, request)
      countDelivery(receipt)
      return success(receiptAnswer(receipt, delivery))
    },
  })
}

const limitText = ({ rateLimit }: Config): string =>
  rateLimit === 0
    ? 'API keys have no limit, unless a key has one of its own.'
    : `An API key may make ${rateLimit} deliveries a minute, unless it has a limit of its own.`

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
})
