import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { authorizationOf, bearerToken } from '#src/http/request-head.ts'
import { createSupplierAccess, type Supplier, type SupplierAccessDependencies } from './supplier-access.ts'

/** Sets `request.supplier` by the ApiKey header, or calls back with the refusal. */
export type IdentifySupplier = (request: FastifyRequest, done: (refusal?: Error) => void) => void

declare module 'fastify' {
  interface FastifyInstance {
    /** For deliveries; heeds a bearer token by `TESLIM_PURCHASE_BEARER`. */
    identifySupplier: IdentifySupplier
    /** The same as a promise, for whoever has to ask again. */
    supplierOf: (request: FastifyRequest) => Promise<Supplier>
    /** Returns a plugin whose routes need an API key, and no token. */
    suppliersOnly: (routes: FastifyPluginAsyncTypebox) => FastifyPluginAsyncTypebox
  }
  interface FastifyRequest {
    /** The customer, key and authority of the ApiKey header; set for routes that need one, before the body is read. */
    supplier: Supplier
  }
}

const plugin: FastifyPluginAsync<{ readonly config: Config }> = async (app, { config }) => {
  const identifyBy = (bearer: SupplierAccessDependencies['bearer']): IdentifySupplier => {
    const suppliers = createSupplierAccess({
      accounts: app.accounts,
      uses: app.keyUses,
      bearer,
      verifyBearer: async (authorization) => (await app.accessTokens.verify(bearerToken(authorization))).customer.id,
    })
    return (request, done) => {
      const { address, headers, raw } = request
      const credentials = {
        apiKey: headers.apikey as string | undefined,
        authorization: authorizationOf(raw),
        address,
      }
      const proceed = (supplier: Supplier): void => {
        request.supplier = supplier
        request.customerId = supplier.customer.id
        request.roomOwner = supplier.key.id
        done()
      }
      const known = suppliers.known(credentials)
      if (known !== undefined) proceed(known)
      else suppliers.identify(credentials).then(proceed, done)
    }
  }
  const identify = identifyBy('ignored')
  const identifySupplier = identifyBy(config.purchaseBearer)

  app.decorateRequest('supplier')
  app.decorate('identifySupplier', identifySupplier)
  app.decorate(
    'supplierOf',
    (request): Promise<Supplier> =>
      new Promise((resolve, reject) => {
        identifySupplier(request, (refusal) => (refusal ? reject(refusal) : resolve(request.supplier)))
      }),
  )
  app.decorate(
    'suppliersOnly',
    (routes): FastifyPluginAsyncTypebox =>
      async function suppliersScope(scope) {
        scope.addHook('onRequest', (request, _reply, done) => identify(request, done))
        scope.addHook('onRoute', (route) => {
          // In place: whoever writes the contract has seen this schema already.
          Object.assign(route.schema ?? {}, { security: [{ ApiKey: [] }] })
        })
        await scope.register(routes)
      },
  )
}

export const suppliersPlugin = fastifyPlugin(plugin, { name: 'suppliers', dependencies: ['token', 'customer'] })
