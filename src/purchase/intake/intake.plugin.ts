import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { lingerAtEnd } from '#src/http/connections/node-internals.ts'
import { failure, jsonLine, success, successSchema } from '#src/http/envelope.ts'
import { httpErrors } from '#src/http/http.errors.ts'
import { type LineExchange, openLineExchange } from '#src/http/line-exchange.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { AppError } from '#src/lib/app-error.ts'
import { newId } from '#src/lib/random.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { createIntake, deliveryCounts, receiptAnswer, validationAnswer } from './intake.rule.ts'
import {
  checkSchema,
  PurchaseQuerySchema,
  purchaseBodySchema,
  purchaseExamples,
  purchaseHeadersSchema,
  receiptSchema,
  UploadAnswerSchema,
  UploadBodySchema,
  UploadHeadersSchema,
  uploadExamples,
  validatesOnly,
} from './intake.schema.ts'
import { createRateLimit, limitReached } from './rate-limit.ts'
import { createUploads, type UploadConnection } from './upload.rule.ts'
import { createLineReader } from './upload-line.ts'

/** A key that is revoked, or expires, while its body takes longer than this delivers nothing. */
const ASK_AGAIN_MILLISECONDS = 500

/** The part of the queue that uploads leave to single deliveries, which cannot wait. */
const PART_LEFT = 1 / 2
/** What an upload takes besides unfinished lines and unread answers: bytes that were read and are not used yet. */
const UPLOAD_BYTES = 128 * 1024
const LINES_TYPE = 'application/x-ndjson'

/** The credentials of a delivery, by `TESLIM_PURCHASE_BEARER`. */
const CREDENTIALS = {
  optional: [{ ApiKey: [] }, { ApiKey: [], bearer: [] }],
  required: [{ ApiKey: [], bearer: [] }],
  ignored: [{ ApiKey: [] }],
}

type Needed = 'config' | 'store' | 'versions' | 'clock' | 'random' | 'metrics'

const plugin: PluginWith<Needed> = async (app, options) => {
  const { config, store, versions, clock, random, metrics } = options
  const { bodyLimitBytes, requestTimeoutSeconds, purchaseBearer } = config
  const { deliveryReader: reader, identifySupplier } = app
  const { deliveries } = store
  const countDelivery = deliveryCounts(metrics)
  const takeAllowance = createRateLimit(config.rateLimit, clock)
  const intake = createIntake({
    deliveries,
    clock,
    newId: (now) => newId(now, random),
    idempotencyDays: config.idempotencyDays,
    productPointers: config.productPointers,
  })

  /** Fastify refuses a malformed Content-Type, and here any will do (docs/decisions/0027-any-content-type.md). */
  const ignoreContentType: onRequestHookHandler = (request, _reply, done) => {
    request.headers['content-type'] = undefined
    done()
  }
  const limitSupplier: onRequestHookHandler = (request, reply, done) => {
    const allowance = takeAllowance(request.supplier.key)
    if (allowance === undefined) return done()
    const { allowed, limit, remaining, resetSeconds } = allowance
    reply.headers({ 'ratelimit-limit': limit, 'ratelimit-remaining': remaining, 'ratelimit-reset': resetSeconds })
    done(allowed ? undefined : limitReached(allowance))
  }

  const described = {
    tags: ['Purchase'],
    security: CREDENTIALS[purchaseBearer],
    querystring: PurchaseQuerySchema,
  }
  /** A request that was refused early has no supplier. */
  const refusedDelivery = ({ body, supplier }: Partial<FastifyRequest>, part = body) => ({
    keyId: supplier?.key.id ?? null,
    findOrderId: () => (supplier === undefined ? null : reader.orderIdIn(part)),
  })
  const common = {
    config: { refusedAs: 'delivery.refused' as const, refusedDelivery, usesReserve: true },
    // The schema is the contract; the reader of deliveries holds them to it, without building a value.
    validatorCompiler: () => () => true,
  }

  const update = {
    ...described,
    summary: 'Update purchase order',
    operationId: 'purchaseUpdate',
    isLimited: true,
    description: `Takes in the Status of a purchase order, and answers once the delivery is durable. Accepts any Content-Type. ${limitText(config)} RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset (seconds) tell the allowance of a limited key.`,
    errors: [purchaseErrors.notAuthorized, purchaseErrors.rateLimited, storeErrors.idempotencyKeyReused],
    bodyExamples: purchaseExamples(config),
    headers: purchaseHeadersSchema(config),
    body: purchaseBodySchema(config),
    response: {
      200: successSchema(
        Type.Union([receiptSchema(config), checkSchema(config)]),
        'The receipt, or the outcome of validateOnly=true',
      ),
    },
  }
  app.post('/Purchase/update', {
    ...common,
    schema: update,
    onRequest: [ignoreContentType, identifySupplier, limitSupplier],
    handler: async (request) => {
      if (clock.monotonic() - request.startedAt > ASK_AGAIN_MILLISECONDS) {
        await versions.makeFresh()
        request.supplier = await app.supplierOf(request)
      }
      const { body, headers, supplier, url, query, address, id } = request
      const validates = url.includes('?') && validatesOnly(query)
      const delivery = reader.parse(body, headers['idempotency-key'])
      const origin = { keyId: supplier.key.id, address, requestId: id }
      if (validates) return success(validationAnswer(await intake.validate(supplier, delivery, origin), delivery))
      const receipt = await intake.deliver(supplier, delivery, origin)
      countDelivery(receipt)
      return success(receiptAnswer(receipt, delivery))
    },
  })

  const patienceMilliseconds = requestTimeoutSeconds * 1000
  const exchanges = new Set<LineExchange>()
  let closing = false
  app.addHook('preClose', async () => {
    closing = true
    for (const exchange of exchanges) exchange.endFor(new AppError(httpErrors.stopping))
  })

  const takeUpload = createUploads({
    intake,
    reader,
    readLine: createLineReader(config.fieldCase),
    bodyLimitBytes,
    takeAllowance,
    storeHasCapacity() {
      // Only now: a server may begin before there is a store.
      const { load } = deliveries
      return load.items() < load.maxItems * PART_LEFT && load.bytes() < load.maxBytes * PART_LEFT
    },
    patienceMilliseconds,
    clock,
  })

  /** Reserves the memory of an upload before anything of it is read, or refuses it. Returns the function that releases it. */
  const reserveUpload = ({ supplier }: FastifyRequest, reply: FastifyReply): (() => void) => {
    const reservation = app.bodyBudget.uploads.reserve(supplier.customer.id, () => undefined)
    if (reservation.extend(UPLOAD_BYTES)) {
      reservation.complete()
      return reservation.release
    }
    reply.header('connection', 'close')
    lingerAtEnd(reply.request.raw.socket)
    throw new AppError(httpErrors.bodiesOverloaded)
  }

  const answerUpload = async (request: FastifyRequest, reply: FastifyReply, validates: boolean): Promise<void> => {
    const { large: pool } = app.bodyBudget
    const contentType = `${LINES_TYPE}; charset=utf-8`
    const exchange = openLineExchange(reply, { contentType, patienceMilliseconds, pool })
    exchanges.add(exchange)
    if (closing) exchange.endFor(new AppError(httpErrors.stopping))
    const { supplier, address, id } = request
    const connection: UploadConnection = {
      ...exchange,
      origin: { keyId: supplier.key.id, address, requestId: id },
      identify: async () => app.supplierOf(request),
      received(line, receipt, delivery) {
        countDelivery(receipt)
        return jsonLine({ Line: line, ...success(receiptAnswer(receipt, delivery)) })
      },
      validated: (line, outcome, delivery) => jsonLine({ Line: line, ...success(validationAnswer(outcome, delivery)) }),
      refused(line, thrown, body) {
        const error = app.notePartRefused(request, thrown, body)
        return jsonLine({ Line: line, ...failure(error, id, error.details.problems) })
      },
    }
    try {
      await takeUpload(connection, supplier, validates)
    } finally {
      exchanges.delete(exchange)
    }
  }

  const updates = {
    ...described,
    summary: 'Report about many purchase orders',
    operationId: 'purchaseUpdates',
    description: `Takes one delivery a line, of any number, and answers each with a line as soon as it is durable, in their order. After a line that failed with STORE_UNAVAILABLE or STORE_OVERLOADED no later line of its order is stored, and the upload ends. The status is 200 once the API key is accepted: each line of the answer tells what became of one delivery. Read the answers while you send: the service reads on only as long as its answers are read. It may take any time, but ends if no line comes for ${requestTimeoutSeconds} seconds. If API keys are limited, an upload is slowed to the limit.`,
    consumes: [LINES_TYPE],
    bodyExamples: uploadExamples(config),
    headers: UploadHeadersSchema,
    body: UploadBodySchema,
    response: {
      200: {
        description: 'The answers, as they become known',
        content: { [LINES_TYPE]: { schema: UploadAnswerSchema } },
      },
    },
  }
  const uploads: FastifyPluginAsyncTypebox = async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    scope.post('/Purchase/updates', {
      ...common,
      schema: updates,
      onRequest: [ignoreContentType, identifySupplier],
      handler: (typedRequest, typedReply) => {
        const [request, reply] = [typedRequest as unknown as FastifyRequest, typedReply as unknown as FastifyReply]
        const validates = validatesOnly(typedRequest.query)
        const release = reserveUpload(request, reply)
        void answerUpload(request, reply, validates)
          .catch((error) => {
            request.log.error({ requestId: request.id, err: error }, 'an upload failed')
            reply.raw.destroy()
          })
          .finally(release)
      },
    })
  }
  app.register(uploads)
}

const limitText = ({ rateLimit }: Config): string =>
  rateLimit === 0
    ? 'API keys have no limit, unless a key has one of its own.'
    : `An API key may make ${rateLimit} deliveries a minute, unless it has a limit of its own.`

export const intakePlugin = fastifyPlugin(plugin, { name: 'intake', dependencies: ['purchase'] })
