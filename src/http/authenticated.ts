import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { bearerToken } from './bearer.ts'

/** A scope for routes that need a bearer token: `request.access` says whose it is. Without one, nothing of it runs. */
export const authenticated = (routes: FastifyPluginAsyncTypebox): FastifyPluginAsyncTypebox =>
  async function authenticatedScope(scope) {
    scope.addHook('onRequest', async (request) => {
      const access = await scope.accessTokens.verify(bearerToken(request.headers.authorization))
      request.access = access
      request.customerId = access.customer.id
    })
    scope.addHook('onRoute', (route) => {
      route.schema = { ...route.schema, security: [{ bearer: [] }] }
    })
    await scope.register(routes)
  }
