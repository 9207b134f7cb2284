import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { lingerAtEnd } from '#src/http/connections/node-internals.ts'
import { failure, jsonLine, success } from '#src/http/envelope.ts'
import { httpErrors } from '#src/http/http.errors.ts'
import { type LineExchange, openLineExchange } from '#src/http/line-exchange.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { DeliveryStore } from '#src/store/store.ts'
import { createRefusedDelivery } from '../refused-delivery.ts'
import { PurchaseQuerySchema, validatesOnly } from './intake.schema.ts'
import { receiptAnswer, validationAnswer } from './receipt-answer.ts'
import { createUploads, type UploadConnection } from './upload.rule.ts'
import { UploadAnswerSchema, UploadBodySchema, UploadHeadersSchema, uploadExamples } from './upload.schema.ts'
import { createLineReader } from './upload-line.ts'
import { takeUploadRoom } from './upload-rooms.ts'

export interface UploadOptions {
  readonly config: Config
  readonly deliveries: DeliveryStore
  readonly clock: Clock
}

const CONTENT_TYPE = 'application/x-ndjson; charset=utf-8'
/** The part of the queue that uploads leave to single deliveries, which cannot wait. */
const PART_LEFT = 1 / 2

const plugin: FastifyPluginAsyncTypebox<UploadOptions> = async (app, { config, deliveries, clock }) => {
  const { queueDeliveries, queueBytes, bodyLimitBytes } = config
  const { intake, countDelivery, takeAllowance, deliveryCredentials } = app.deliveryRoutes
  const patienceMilliseconds = config.requestTimeoutSeconds * 1000
  const { load } = deliveries
  const exchanges = new Set<LineExchange>()
  let closing = false

  const takeUpload = createUploads({
    intake,
    readLine: createLineReader(config.fieldCase),
    bodyLimitBytes,
    takeAllowance,
    hasRoom: () => load.items() < queueDeliveries * PART_LEFT && load.bytes() < queueBytes * PART_LEFT,
    patienceMilliseconds,
    clock,
  })

  app.addHook('preClose', async () => {
    closing = true
    for (const exchange of exchanges) exchange.endFor(new AppError(httpErrors.stopping))
  })

  /** Refuses an upload for which there is no room, before anything of it is read. */
  const roomFor = ({ supplier }: FastifyRequest, reply: FastifyReply): (() => void) => {
    const giveBack = takeUploadRoom(app.bodyBudget.uploads, supplier.customer.id)
    if (giveBack !== undefined) return giveBack
    reply.header('connection', 'close')
    lingerAtEnd(reply.request.raw.socket)
    throw new AppError(httpErrors.bodiesOverloaded)
  }

  const answer = async (request: FastifyRequest, reply: FastifyReply, validates: boolean): Promise<void> => {
    const { large: pool } = app.bodyBudget
    const exchange = openLineExchange(reply, { contentType: CONTENT_TYPE, patienceMilliseconds, pool })
    exchanges.add(exchange)
    if (closing) exchange.endFor(new AppError(httpErrors.stopping))
    const connection: UploadConnection = {
      ...exchange,
      sender: request,
      identify: () => app.supplierOf(request),
      received(line, receipt, delivery) {
        countDelivery(receipt)
        return jsonLine({ Line: line, ...success(receiptAnswer(receipt, delivery)) })
      },
      validated: (line, foreseen, delivery) =>
        jsonLine({ Line: line, ...success(validationAnswer(foreseen, delivery)) }),
      refused(line, thrown, body) {
        const error = app.notePartRefused(request, thrown, body)
        return jsonLine({ Line: line, ...failure(error, request.id, error.details.problems) })
      },
    }
    try {
      await takeUpload(connection, request.supplier, validates)
    } finally {
      exchanges.delete(exchange)
    }
  }

  const schema = {
    summary: 'Deliver many purchase orders',
    operationId: 'purchaseUpdates',
    tags: ['Purchase'],
    description: `Takes one delivery a line, of any number, and answers each with a line as soon as it is durable, in their order. The status is 200 once the API key is accepted: each line of the answer tells what became of one delivery. Read the answers while you send: the service reads on only as long as its answers are read. It may take any time, but ends if no line comes for ${config.requestTimeoutSeconds} seconds. If API keys are limited, an upload is slowed to the limit.`,
    security: deliveryCredentials,
    consumes: ['application/x-ndjson'],
    bodyExamples: uploadExamples(config),
    headers: UploadHeadersSchema,
    querystring: PurchaseQuerySchema,
    body: UploadBodySchema,
    response: {
      200: {
        description: 'The answers, as they become known',
        content: { 'application/x-ndjson': { schema: UploadAnswerSchema } },
      },
    },
  }

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  app.post('/Purchase/updates', {
    schema,
    config: { refusedAs: 'delivery.refused', refusedDelivery: createRefusedDelivery(config) },
    validatorCompiler: () => () => true,
    onRequest: (request, _reply, done) => {
      // As in intake.plugin.ts.
      request.headers['content-type'] = undefined
      app.identifySupplier(request, done)
    },
    handler: (request, reply) => {
      const validates = validatesOnly(request.query)
      const [asked, answered] = [request as unknown as FastifyRequest, reply as unknown as FastifyReply]
      const giveBack = roomFor(asked, answered)
      void answer(asked, answered, validates)
        .catch((error) => {
          request.log.error({ requestId: request.id, err: error }, 'an upload failed')
          reply.raw.destroy()
        })
        .finally(giveBack)
    },
  })
}

export const uploadPlugin = fastifyPlugin(plugin, {
  name: 'upload',
  dependencies: ['purchase', 'suppliers'],
  encapsulate: true,
})
