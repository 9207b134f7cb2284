import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { authorizationOf, bearerToken } from '#src/http/request-head.ts'
import { type Cursors, createCursors } from './cursors.ts'
import { createDeliveryReader, type DeliveryReader } from './delivery-body.ts'
import {
  createKeyUses,
  createSupplierAccess,
  createSuppliers,
  type KeyUses,
  type Supplier,
  type Suppliers,
} from './suppliers.ts'

declare module 'fastify' {
  interface FastifyInstance {
    suppliers: Suppliers
    keyUses: KeyUses
    /** Sets `request.supplier`, for routes that take deliveries. Heeds a bearer token by `TESLIM_PURCHASE_BEARER`. */
    identifySupplier: onRequestHookHandler
    /** Returns what `identifySupplier` would set now, or throws the refusal. A cached key needs no promise. */
    supplierOf: (request: FastifyRequest) => Supplier | Promise<Supplier>
    /** Returns a plugin whose routes need an API key, and no token. */
    suppliersOnly: (routes: FastifyPluginAsyncTypebox) => FastifyPluginAsyncTypebox
    /** The cursors of all lists and of the feed. */
    cursors: Cursors
    deliveryReader: DeliveryReader
  }
  interface FastifyRequest {
    /** The customer, key and authority of the ApiKey header; set for routes that need one, before the body is read. */
    supplier: Supplier
  }
}

/** What the routes of this module share. */
const plugin: PluginWith<'config' | 'store' | 'versions' | 'clock' | 'random'> = async (app, options) => {
  const { config, store, versions, clock, random } = options
  const suppliers = createSuppliers(store.apiKeys, versions, clock)
  const keyUses = createKeyUses(store.apiKeys, clock, (error) =>
    app.log.warn({ err: error }, 'the last use of keys could not be written'),
  )
  app.decorate('suppliers', suppliers)
  app.decorate('keyUses', keyUses)
  app.addHook('onClose', () => keyUses.flush())
  const verifyBearer = async (authorization: string | undefined, address: string): Promise<string> =>
    (await app.accessTokens.verify(bearerToken(authorization), address)).customer.id
  const supplierBy = (bearer: Config['purchaseBearer']) => {
    const findSupplier = createSupplierAccess(suppliers, keyUses, bearer, verifyBearer)
    return ({ address, headers, raw }: FastifyRequest) =>
      findSupplier(headers.apikey as string | undefined, authorizationOf(raw), address)
  }
  const supplierOf = supplierBy(config.purchaseBearer)
  const identifyByKey = identifyWith(supplierBy('ignored'))

  app.decorateRequest('supplier')
  app.decorate('supplierOf', supplierOf)
  app.decorate('identifySupplier', identifyWith(supplierOf))
  app.decorate(
    'suppliersOnly',
    (routes): FastifyPluginAsyncTypebox =>
      async function suppliersScope(scope) {
        scope.addHook('onRequest', identifyByKey)
        scope.addHook('onRequest', (request, _reply, done) => {
          request.caller = { customer: request.supplier.customer, seesAll: false }
          done()
        })
        scope.addHook('onRoute', (route) => {
          // In place: whoever writes the contract has seen this schema already.
          Object.assign(route.schema ?? {}, { security: [{ ApiKey: [] }] })
        })
        await scope.register(routes)
      },
  )
  app.decorate('cursors', createCursors(store.secrets, random))
  app.decorate('deliveryReader', createDeliveryReader(config))
}

/** Waits for no promise if the key is cached: that would cost the request thread several percent of a delivery. */
const identifyWith =
  (supplierOf: (request: FastifyRequest) => Supplier | Promise<Supplier>): onRequestHookHandler =>
  (request, _reply, done) => {
    const supplier = supplierOf(request)
    if (supplier instanceof Promise) {
      supplier.then((found) => {
        accept(request, found)
        done()
      }, done)
      return
    }
    accept(request, supplier)
    done()
  }

function accept(request: FastifyRequest, supplier: Supplier): void {
  request.supplier = supplier
  request.customerId = supplier.customer.id
  request.budgetOwner = supplier.key.id
}

export const purchasePlugin = fastifyPlugin(plugin, { name: 'purchase', dependencies: ['token'] })
