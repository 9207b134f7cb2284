import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { exportable } from '#src/http/answers/exports.ts'
import { keepUncompressed } from '#src/http/answers/read-answers.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { withPeriod } from '#src/http/validation.ts'
import { naming } from '#src/lib/display-name.ts'
import { operatorErrors } from '#src/token/operator.errors.ts'
import { BY_KEY, BY_TOKEN, type Door, titleOf } from '../doors.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { NoQuerySchema } from '../purchase.schema.ts'
import { callerAnswer, refusalAnswer } from './refusal-answer.ts'
import { createRefusalReads } from './refusals.rule.ts'
import {
  DEFAULT_REFUSALS_LIMIT,
  RefusalParamsSchema,
  RefusalSchema,
  RefusalsQuerySchema,
  RefusalsSchema,
  RefusedPayloadSchema,
  SupplierRefusalsQuerySchema,
  SupplierRefusalsSchema,
} from './refusals.schema.ts'

const BYTES_TYPE = 'application/octet-stream'

const plugin: PluginWith<'config' | 'store'> = async (app, { config, store }) => {
  const { refused, deliveries, purges, customers } = store
  const named = naming(customers.names)
  const { list, find, payload } = createRefusalReads({ refused, deliveries, purges, customers, cursors: app.cursors })

  const routesOf = (door: Door): FastifyPluginAsyncTypebox => {
    const isByKey = door === BY_KEY
    const querystring = isByKey ? SupplierRefusalsQuerySchema : RefusalsQuerySchema
    const schema = {
      ...titleOf(door, 'Refusals', 'List refused deliveries'),
      description: `What was refused of ${isByKey ? 'the deliveries with an API key of this customer, newest first: also with a key that was revoked or has expired' : 'deliveries, newest first: for operators that of all customers, also with a missing or unknown API key'}. Of many refusals in a minute only some are recorded. Paging shows each refusal that existed at the start exactly once.`,
      errors: isByKey ? [purchaseErrors.cursorInvalid] : [purchaseErrors.cursorInvalid, customerErrors.notFound],
      querystring,
      response: {
        200: successSchema(isByKey ? SupplierRefusalsSchema : RefusalsSchema, 'The refusals'),
      },
    }
    const one = {
      ...titleOf(door, 'RefusalPayload', 'The exact bytes of a refused delivery'),
      description: `Without the envelope: the body, byte for byte, which need not be JSON. ${keptText(config)}`,
      errors: isByKey ? [purchaseErrors.refusalNotFound] : [purchaseErrors.refusalNotFound, operatorErrors.payloads],
      params: RefusalParamsSchema,
      querystring: NoQuerySchema,
      response: {
        200: {
          description: 'The body that was refused',
          content: { [BYTES_TYPE]: { schema: RefusedPayloadSchema } },
        },
      },
    }
    return async (routes) => {
      routes.get(`/${door.tag}/refusals`, {
        schema: isByKey ? schema : exportable(schema),
        handler: async (request, reply) => {
          const { caller, query: sent } = request
          const query = { limit: DEFAULT_REFUSALS_LIMIT, ...withPeriod(sent) }
          if (caller.seesAll && !('customer' in query)) keepUncompressed(reply)
          return app.answerList(request, reply, async (place) => {
            const route = isByKey ? 'refusals' : 'all-refusals'
            const { refusals, nextCursor } = await list(route, caller, { ...query, ...place })
            const answers = isByKey
              ? refusals.map(refusalAnswer)
              : await named(
                  refusals.map((each) => callerAnswer(each, caller)),
                  caller.seesAll,
                )
            return { Refusals: answers, NextCursor: nextCursor }
          })
        },
      })
      routes.get(`/${door.tag}/refusal/:refusalId/payload`, {
        schema: one,
        handler: async (request, reply) => {
          const { caller, params } = request
          request.need('payloads')
          const bytes = await payload(caller, params.refusalId)
          reply.header('content-disposition', 'attachment')
          return reply.type(BYTES_TYPE).send(Buffer.from(bytes) as never)
        },
      })
    }
  }

  const addOne: FastifyPluginAsyncTypebox = async (routes) => {
    const schema = {
      ...titleOf(BY_TOKEN, 'Refusal', 'One refusal'),
      description: 'As in the list.',
      errors: [purchaseErrors.refusalNotFound],
      params: RefusalParamsSchema,
      querystring: NoQuerySchema,
      response: { 200: successSchema(RefusalSchema, 'The refusal') },
    }
    routes.get('/Purchase/refusal/:refusalId', {
      schema,
      handler: async ({ caller, params }) => {
        const answer = callerAnswer(await find(caller, params.refusalId), caller)
        const [shown = answer] = await named([answer], caller.seesAll)
        return success(shown)
      },
    })
  }

  app.register(app.suppliersOnly(routesOf(BY_KEY)))
  app.register(app.needs('look')(routesOf(BY_TOKEN)))
  app.register(app.needs('look')(addOne))
}

const keptText = ({ keepRefused, refusedDays }: Config): string =>
  keepRefused === 'known'
    ? `Bodies sent with a valid API key are kept for at most ${refusedDays} days.`
    : `This service keeps none now; older ones are deleted after ${refusedDays} days.`

export const refusalsPlugin = fastifyPlugin(plugin, {
  name: 'refusals',
  dependencies: ['token', 'purchase', 'exports'],
  encapsulate: true,
})
