import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { bearerToken } from '#src/http/bearer.ts'
import { scanJson } from '#src/http/body/parsers.ts'
import { failures, success, successSchema } from '#src/http/envelope.ts'
import { invalidRequest } from '#src/http/error-handler.ts'
import { AppError } from '#src/lib/app-error.ts'
import { type Clock, isoMilliseconds } from '#src/lib/clock.ts'
import { newId } from '#src/lib/ids.ts'
import { DEEPEST } from '#src/lib/json/scan.ts'
import type { Random } from '#src/lib/random.ts'
import type { DeliveryStore, Receipt } from '#src/store/store.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { createDeliveryReader } from './delivery-body.ts'
import { createDeliver, type IncomingDelivery } from './intake.rule.ts'
import { PurchaseBodySchema, PurchaseHeadersSchema, purchaseExamples, ReceiptSchema } from './intake.schema.ts'
import { type Allowance, createRateLimit } from './rate-limit.ts'
import { createSupplierAccess, type Supplier } from './supplier-access.ts'

declare module 'fastify' {
  interface FastifyRequest {
    supplier: Supplier | null
    delivery: IncomingDelivery | null
  }
}

export interface PurchaseOptions {
  readonly config: Config
  readonly deliveries: DeliveryStore
  readonly clock: Clock
  readonly random: Random
}

/** Which credentials a delivery carries, by `TESLIM_PURCHASE_BEARER`. */
const CREDENTIALS = {
  optional: [{ ApiKey: [] }, { ApiKey: [], bearer: [] }],
  required: [{ ApiKey: [], bearer: [] }],
  ignored: [{ ApiKey: [] }],
}

const plugin: FastifyPluginAsyncTypebox<PurchaseOptions> = async (app, { config, deliveries, clock, random }) => {
  const identify = createSupplierAccess({
    accounts: app.accounts,
    uses: app.keyUses,
    bearer: config.purchaseBearer,
    verifyBearer: async (authorization) => (await app.accessTokens.verify(bearerToken(authorization))).customer.id,
  })
  const takeAllowance = config.rateLimit > 0 ? createRateLimit(config.rateLimit, clock) : undefined
  const reader = createDeliveryReader(
    {
      orderId: config.orderIdPointers,
      product: config.productPointers,
      statusAnyCase: config.fieldCase === 'any',
    },
    DEEPEST,
  )
  const deliver = createDeliver({
    deliveries,
    clock,
    newId: (now) => newId(now, random),
    idempotencyDays: config.idempotencyDays,
  })

  app.decorateRequest('supplier', null)
  app.decorateRequest('delivery', null)

  const schema = {
    summary: 'Update purchase order',
    operationId: 'purchaseUpdate',
    tags: ['Purchase'],
    description:
      'Delivers a purchase order. It is answered once the delivery is durable. Any Content-Type is taken. Where keys are limited, RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset (seconds) tell how.',
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
    onRequest: (request, reply, done) => {
      const proceed = (supplier: Supplier): void => {
        request.supplier = supplier
        request.customerId = supplier.customer.id
        // Whatever type is named: the contract names none, so not even a malformed one is a reason to refuse.
        request.raw.headers['content-type'] = 'application/octet-stream'
        done(takeAllowance && refusalBy(takeAllowance(supplier.key.id), reply))
      }
      const { apikey, authorization } = request.headers
      const supplier = identify({
        apiKey: apikey as string | undefined,
        authorization,
        address: request.address,
      })
      if (supplier instanceof Promise) supplier.then(proceed, done)
      else proceed(supplier)
    },
    preValidation: (request, _reply, done) => {
      try {
        const payload = request.body as unknown as Buffer
        const scan = scanJson(payload, reader.scan)
        if (isObject(scan.text)) {
          const facts = reader.facts(scan)
          if ('problems' in facts) throw invalidRequest(facts.problems)
          const idempotencyKey = request.headers['idempotency-key'] as string | undefined
          request.delivery = { ...facts, payload, idempotencyKey }
          request.body = { Status: facts.status }
        } else request.body = null as never
        done()
      } catch (error) {
        done(error as Error)
      }
    },
    handler: ({ supplier, delivery }) => {
      if (supplier === null || delivery === null) throw new Error('a hook of this route has not run')
      return deliver(supplier, delivery).then(answerOf)
    },
  })
}

function answerOf({ receiptId, status, orderId, duplicate, receivedAt }: Receipt) {
  return success({
    ReceiptID: receiptId,
    Status: status,
    ...(orderId !== null && { OrderID: orderId }),
    Duplicate: duplicate,
    ReceivedAt: isoMilliseconds(receivedAt),
  })
}

/** Tells the allowance in the headers of the answer; an error if it is used up. */
function refusalBy(allowance: Allowance, reply: FastifyReply): AppError | undefined {
  const { allowed, limit, remaining, resetSeconds, retrySeconds } = allowance
  reply.headers({ 'ratelimit-limit': limit, 'ratelimit-remaining': remaining, 'ratelimit-reset': resetSeconds })
  if (allowed) return undefined
  return new AppError(purchaseErrors.rateLimited, {
    message: `This ApiKey may make ${limit} deliveries a minute. Nothing was kept; send the request again in ${retrySeconds} s.`,
    retryAfterSeconds: retrySeconds,
  })
}

/** Of JSON, whose first character tells. */
const isObject = (json: string): boolean => json[0] === '{' || /^\s+\{/.test(json)

export const purchasePlugin = fastifyPlugin(plugin, {
  name: 'purchase',
  dependencies: ['token', 'customer'],
  encapsulate: true,
})
