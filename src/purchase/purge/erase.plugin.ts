import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { actionRoute } from '#src/http/body/action-route.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { message } from '#src/lib/messages/message.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { Store } from '#src/store/store.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { ReceiptParamsSchema } from '../purchase.schema.ts'
import { EraseDeliverySchema, EraseOrderSchema, ErasureSchema, OrderParamsSchema } from './erase.schema.ts'
import {
  countErasable,
  deliveryToErase,
  type EraseSomeDependencies,
  type ErasureTarget,
  eraseSome,
  orderToErase,
  UNREACHED,
} from './erase-some.rule.ts'
import { createYielding } from './purge.rule.ts'

interface EraseOptions {
  readonly store: Store
  readonly clock: Clock
}

/** Proxies wait longer for an answer. */
const WIPE_MILLISECONDS = 10_000

const plugin: FastifyPluginAsyncTypebox<EraseOptions> = async (app, { store, clock }) => {
  const pause = (milliseconds: number) => wait(milliseconds)

  const dependencies = (command?: string): EraseSomeDependencies => {
    const end = clock.monotonic() + WIPE_MILLISECONDS
    return {
      ...store,
      yielding: createYielding({ clock, wait: pause }),
      wait: pause,
      isOver: () => clock.monotonic() >= end,
      ...(command !== undefined && { command: `"${command}"` }),
      onProgress: () => undefined,
    }
  }

  const erase = async (request: FastifyRequest, target: ErasureTarget, dryRun: boolean, command: string) => {
    const report = dryRun
      ? { ...(await countErasable(dependencies(), [target])), left: undefined }
      : await eraseSome({ ...dependencies(command), record: app.recordFor(request) }, [target]).catch(
          orForbidden(command),
        )
    const { deliveries, refusedBodies, left = null } = report
    return success({
      DryRun: dryRun,
      Deliveries: deliveries,
      RefusedBodies: refusedBodies,
      Left: left,
      Unreached: [...UNREACHED],
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
      handler: async (request) => {
        const target = await deliveryToErase(store, request.params.receiptId)
        return erase(request, target, request.body.DryRun === true, `teslim delivery erase ${target.receiptId}`)
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
      handler: async (request) => {
        const { Customer, DryRun = false } = request.body
        const target = await orderToErase(dependencies(), Customer, request.params.orderId)
        return erase(request, target, DryRun, `teslim order erase ORDERID --customer ${target.customerId}`)
      },
    })
  }

  app.register(app.needs('operate', 'change')(routes))
}

const orForbidden =
  (command: string) =>
  (error: unknown): never => {
    if (!(error instanceof AppError) || error.code !== storeErrors.forbidden.code) throw error
    throw new AppError(purchaseErrors.eraseForbidden, { message: message('ERASE_FORBIDDEN_RUN', { command }) })
  }

export const erasePlugin = fastifyPlugin(plugin, { name: 'erase', dependencies: ['token', 'audit', 'purchase'] })
