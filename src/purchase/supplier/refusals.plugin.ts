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
import { DEFAULT_REFUSALS_LIMIT, RefusalsQuerySchema, RefusalsSchema } from './refusals.schema.ts'

export interface SupplierRefusalsOptions {
  readonly store: Store
  readonly random: Random
}

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
const refusalAnswer = ({ refusalId, at, errorCode, message, orderId, requestId, keyId, keyLabel }: Refusal) => ({
  RefusalID: refusalId,
  RefusedAt: isoMilliseconds(at),
  ErrorCode: errorCode,
  Message: message,
  ...(orderId !== null && { OrderID: orderId }),
  RequestID: requestId ?? '',
  ...(keyId !== null && { KeyID: keyId }),
  ...(keyLabel !== null && { KeyLabel: keyLabel }),
})

export const supplierRefusalsPlugin = fastifyPlugin(plugin, {
  name: 'supplier-refusals',
  dependencies: ['suppliers'],
  encapsulate: true,
})
