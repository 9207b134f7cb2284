import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { keepUncompressed } from '#src/http/answers/read-answers.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import { queryReading, withPeriod } from '#src/http/query-reading.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import type { Random } from '#src/lib/random.ts'
import type { Refusal, Store } from '#src/store/store.ts'
import { callerOf } from '../caller.ts'
import { createCursors } from '../cursors.ts'
import { NoQuerySchema } from '../page.schema.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { createRefusalReads } from './refusals.rule.ts'
import {
  DEFAULT_REFUSALS_LIMIT,
  RefusalParamsSchema,
  RefusalsQuerySchema,
  RefusalsSchema,
  RefusedPayloadSchema,
  SupplierRefusalsQuerySchema,
  SupplierRefusalsSchema,
} from './refusals.schema.ts'

export interface RefusalsOptions {
  readonly config: Config
  readonly store: Store
  readonly random: Random
}

const BYTES_TYPE = 'application/octet-stream'

const plugin: FastifyPluginAsyncTypebox<RefusalsOptions> = async (app, { config, store, random }) => {
  const cursors = createCursors(store.secrets, random)
  const { list, payload } = createRefusalReads({ refused: store.refused, customers: store.customers, cursors })

  const supplierRoutes: FastifyPluginAsyncTypebox = async (app) => {
    const schema = {
      summary: 'List refused deliveries, by API key',
      operationId: 'supplierRefusals',
      tags: ['Supplier'],
      description:
        'What was refused of the deliveries with an API key of this customer, newest first: also with a key that was revoked or has expired. Of many refusals in a minute only some are recorded. Paging shows each refusal that existed at the start exactly once. Unknown parameters are refused.',
      errors: [purchaseErrors.cursorInvalid],
      querystring: SupplierRefusalsQuerySchema,
      response: { 200: successSchema(SupplierRefusalsSchema, 'The refusals') },
    }
    app.get('/Supplier/refusals', {
      schema,
      preValidation: queryReading(SupplierRefusalsQuerySchema),
      handler: async ({ query, supplier: { customer } }) => {
        const { refusals, nextCursor } = await list(
          'refusals',
          { operator: false, customer },
          { limit: DEFAULT_REFUSALS_LIMIT, ...withPeriod(query) },
        )
        return success({ Refusals: refusals.map(refusalAnswer), NextCursor: nextCursor })
      },
    })

    const one = {
      ...payloadSchema(config, 'The exact bytes of a refused delivery, by API key', 'supplierRefusalPayload'),
      tags: ['Supplier'],
    }
    app.get('/Supplier/refusal/:refusalId/payload', {
      schema: one,
      handler: async ({ params, supplier: { customer } }, reply) =>
        answerBytes(reply, await payload({ operator: false, customer }, params.refusalId)),
    })
  }

  const routes: FastifyPluginAsyncTypebox = async (app) => {
    const schema = {
      summary: 'List refused deliveries',
      operationId: 'purchaseRefusals',
      tags: ['Purchase'],
      description:
        'What was refused of deliveries, newest first: for operators that of all customers, also with a missing or unknown API key. Of many refusals in a minute only some are recorded. Paging shows each refusal that existed at the start exactly once. Unknown parameters are refused.',
      errors: [purchaseErrors.cursorInvalid, customerErrors.notFound],
      querystring: RefusalsQuerySchema,
      response: { 200: successSchema(RefusalsSchema, 'The refusals') },
    }
    app.get('/Purchase/refusals', {
      schema,
      preValidation: queryReading(RefusalsQuerySchema),
      handler: async (request, reply) => {
        const caller = callerOf(request)
        const { refusals, nextCursor } = await list('all-refusals', caller, {
          limit: DEFAULT_REFUSALS_LIMIT,
          ...withPeriod(request.query),
        })
        if (caller.operator && request.query.customer === undefined) keepUncompressed(reply)
        const answers = refusals.map((each) => ({ ...refusalAnswer(each), CustomerID: each.customerId }))
        return success({ Refusals: answers, NextCursor: nextCursor })
      },
    })

    const one = {
      ...payloadSchema(config, 'The exact bytes of a refused delivery', 'purchaseRefusalPayload'),
      tags: ['Purchase'],
    }
    app.get('/Purchase/refusal/:refusalId/payload', {
      schema: one,
      handler: async (request, reply) => answerBytes(reply, await payload(callerOf(request), request.params.refusalId)),
    })
  }

  app.register(app.suppliersOnly(supplierRoutes))
  app.register(app.authenticated(routes))
}

const keptText = ({ keepRefused, refusedDays }: Config): string =>
  keepRefused === 'known'
    ? `Bodies sent with a valid API key are kept for at most ${refusedDays} days.`
    : `This service keeps none now; older ones are deleted after ${refusedDays} days.`

const payloadSchema = (config: Config, summary: string, operationId: string) => ({
  summary,
  operationId,
  description: `Not in the envelope: the answer is the body that was refused, byte for byte, which need not be JSON. ${keptText(config)}`,
  errors: [purchaseErrors.refusalNotFound],
  params: RefusalParamsSchema,
  querystring: NoQuerySchema,
  response: {
    200: {
      description: 'The body that was refused',
      content: { [BYTES_TYPE]: { schema: RefusedPayloadSchema } },
    },
  },
})

function answerBytes(reply: FastifyReply, bytes: Uint8Array) {
  reply.header('content-disposition', 'attachment')
  return reply.type(BYTES_TYPE).send(Buffer.from(bytes) as never)
}

/** The address and the reason of a refusal are in the audit log, for operators. */
const refusalAnswer = ({ refusalId, at, errorCode, message, orderId, requestId, ...more }: Refusal) => ({
  RefusalID: refusalId,
  RefusedAt: isoMilliseconds(at),
  ErrorCode: errorCode,
  Message: message,
  ...(orderId !== null && { OrderID: orderId }),
  RequestID: requestId ?? '',
  ...(more.keyId !== null && { KeyID: more.keyId }),
  ...(more.keyLabel !== null && { KeyLabel: more.keyLabel }),
  ...(more.payloadBytes !== null && { PayloadBytes: more.payloadBytes }),
})

export const refusalsPlugin = fastifyPlugin(plugin, {
  name: 'refusals',
  dependencies: ['token', 'suppliers'],
  encapsulate: true,
})
