import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { actionRoute } from '#src/http/body/action-route.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { type Message, textOf } from '#src/lib/messages/message.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { ReceiptParamsSchema } from '../purchase.schema.ts'
import { EraseDeliverySchema, EraseOrderSchema, ErasureSchema, OrderParamsSchema } from './erase.schema.ts'
import { deliveryToErase, erase, type FindTarget, orderToErase } from './erase-some.rule.ts'

/** Proxies wait longer for an answer. */
const WIPE_MILLISECONDS = 10_000

const plugin: PluginWith<'config' | 'store' | 'clock'> = async (app, { config: { databaseUrl }, store, clock }) => {
  const answerTo = async (request: FastifyRequest, dryRun: boolean, find: FindTarget) => {
    if (!dryRun) request.needRecentPassword()
    const options = {
      stores: store,
      databaseUrl,
      clock,
      wait: (milliseconds: number) => wait(milliseconds),
      record: app.recordFor(request),
      dryRun,
      wipeMilliseconds: WIPE_MILLISECONDS,
    }
    const { deliveries, refusedBodies, left, unreached } = await erase(options, async (stores) => [await find(stores)])
    return success({
      DryRun: dryRun,
      Deliveries: deliveries,
      RefusedBodies: refusedBodies,
      Left: left === undefined ? null : answerOf(left),
      Unreached: unreached.map(answerOf),
    })
  }

  const answer = successSchema(ErasureSchema, 'What was erased, or would be')
  const description =
    'Overwrites payloads, client addresses and request ids, and removes refused bodies and answers of webhook endpoints. The rest stays, so that a retry still gets its receipt.'

  const routes: FastifyPluginAsyncTypebox = async (scope) => {
    scope.post('/Operator/delivery/:receiptId/erase', {
      ...actionRoute('Operator', 'eraseDelivery', {
        summary: 'Erase a delivery and its duplicates',
        description,
        errors: [purchaseErrors.deliveryNotFound, purchaseErrors.eraseForbidden],
        params: ReceiptParamsSchema,
        body: EraseDeliverySchema,
        bodyExamples: {
          count: { summary: 'Only count', value: { DryRun: true } },
          erase: { summary: 'Erase', value: {} },
        },
        answer,
      }),
      handler: (request) => {
        const { DryRun = false } = request.body
        return answerTo(request, DryRun, (stores) => deliveryToErase(stores, request.params.receiptId))
      },
    })

    scope.post('/Operator/order/:orderId/erase', {
      ...actionRoute('Operator', 'eraseOrder', {
        summary: 'Erase the deliveries of an order',
        description,
        errors: [purchaseErrors.orderNotFound, customerErrors.notFound, purchaseErrors.eraseForbidden],
        params: OrderParamsSchema,
        body: EraseOrderSchema,
        bodyExamples: {
          count: { summary: 'Only count', value: { Customer: 'erp@example.com', DryRun: true } },
          erase: { summary: 'Erase', value: { Customer: 'erp@example.com' } },
        },
        answer,
      }),
      handler: (request) => {
        const { Customer, DryRun = false } = request.body
        return answerTo(request, DryRun, (stores) => orderToErase(stores, Customer, request.params.orderId))
      },
    })
  }

  app.register(app.needs('operate', 'change')(routes))
}

const answerOf = (text: Message) => ({ Message: textOf(text), Code: text.code, Values: text.values })

export const erasePlugin = fastifyPlugin(plugin, { name: 'erase', dependencies: ['token', 'audit', 'purchase'] })
