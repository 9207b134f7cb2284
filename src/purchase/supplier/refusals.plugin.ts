import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import { failures, success, successSchema } from '#src/http/envelope.ts'
import { invalidRequest } from '#src/http/error-handler.ts'
import { queryReading } from '#src/http/query-reading.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import type { Random } from '#src/lib/random.ts'
import type { Refusal, Store } from '#src/store/store.ts'
import { createCursors } from '../cursors.ts'
import { readTime } from '../time.ts'
import { createSupplierRefusals } from './refusals.rule.ts'
import {
  DEFAULT_REFUSALS_LIMIT,
  NoQuerySchema,
  RefusalParamsSchema,
  RefusalsQuerySchema,
  RefusalsSchema,
  RefusedPayloadSchema,
} from './refusals.schema.ts'

export interface SupplierRefusalsOptions {
  readonly store: Store
  readonly random: Random
}

const BYTES_TYPE = 'application/octet-stream'

const plugin: FastifyPluginAsyncTypebox<SupplierRefusalsOptions> = async (app, { store, random }) => {
  const refusals = createSupplierRefusals({ refused: store.refused, cursors: createCursors(store.secrets, random) })

  const routes: FastifyPluginAsyncTypebox = async (app) => {
    const schema = {
      summary: 'List refused deliveries',
      operationId: 'supplierRefusals',
      tags: ['Supplier'],
      description:
        'What was refused of the deliveries with an API key of this customer, newest first: also with a key that was revoked or has expired. Of many refusals in a minute only some are recorded. Paging shows each refusal that existed at the start exactly once. Unknown parameters are refused.',
      errors: ['API_KEY_MISSING', 'API_KEY_INVALID', 'CURSOR_INVALID'],
      security: [{ ApiKey: [] }],
      querystring: RefusalsQuerySchema,
      response: { 200: successSchema(RefusalsSchema, 'The refusals'), ...failures(400, 401, 500, 503) },
    }
    app.get('/Supplier/refusals', {
      schema,
      preValidation: queryReading(RefusalsQuerySchema),
      handler: async ({ query, supplier }) => {
        const { limit = DEFAULT_REFUSALS_LIMIT, from, to, ...filters } = query
        const period = { from: timeOf('from', from), to: timeOf('to', to) }
        const page = await refusals.list(supplier.customer.id, { ...filters, ...period, limit })
        return success({ Refusals: page.refusals.map(refusalAnswer), NextCursor: page.nextCursor })
      },
    })

    const payload = {
      summary: 'The exact bytes of a refused delivery',
      operationId: 'supplierRefusalPayload',
      tags: ['Supplier'],
      description:
        'Not in the envelope: the answer is the body that was refused, byte for byte, which need not be JSON. Bodies are kept only if the operator has decided so, and for some days.',
      errors: ['API_KEY_MISSING', 'API_KEY_INVALID', 'REFUSAL_NOT_FOUND'],
      security: [{ ApiKey: [] }],
      params: RefusalParamsSchema,
      querystring: NoQuerySchema,
      response: {
        200: {
          description: 'The body that was refused',
          content: { [BYTES_TYPE]: { schema: RefusedPayloadSchema } },
        },
        ...failures(400, 401, 404, 500, 503),
      },
    }
    app.get('/Supplier/refusal/:refusalId/payload', {
      schema: payload,
      handler: async ({ params, supplier }, reply) => {
        const bytes = await refusals.payload(supplier.customer.id, params.refusalId)
        reply.header('content-disposition', 'attachment')
        return reply.type(BYTES_TYPE).send(Buffer.from(bytes) as never)
      },
    })
  }

  app.register(app.suppliersOnly(routes))
}

function timeOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = readTime(text)
  if (time !== undefined) return time
  throw invalidRequest([
    { path: `query/${name}`, message: 'must be a time with its zone, such as 2026-11-21T09:00:00Z, or a day' },
  ])
}

/** The address and the reason of a refusal are for operators. */
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

export const supplierRefusalsPlugin = fastifyPlugin(plugin, {
  name: 'supplier-refusals',
  dependencies: ['suppliers'],
  encapsulate: true,
})
