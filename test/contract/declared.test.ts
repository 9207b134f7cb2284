import Fastify, { type FastifyInstance, type onRequestHookHandler } from 'fastify'
import { expect, it } from 'vitest'
import { AppError } from '#src/lib/app-error.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import { watchHooks } from '../support/app/hook-refusals.ts'

const { rateLimited } = purchaseErrors

/** Refuses the requests that ask for it. */
const refusing: onRequestHookHandler = ({ headers }, _reply, done) =>
  done(headers.refuse === undefined ? undefined : new AppError(rateLimited))
const throwing: onRequestHookHandler = async ({ headers }) => {
  if (headers.refuse !== undefined) throw new AppError(rateLimited)
}

const ways: [string, (app: FastifyInstance, hook: onRequestHookHandler) => void][] = [
  [
    'its scope',
    (app, hook) =>
      void app.register(async (scope) => {
        scope.addHook('onRequest', hook)
        addRoutes(scope)
        await scope.register(async (inner) => void inner.get('/within', { schema: schemaOf('within') }, async () => ''))
      }),
  ],
  [
    'its routes',
    (app, hook) => {
      addRoutes(app, { onRequest: hook })
      app.get('/within', { onRequest: [hook], schema: schemaOf('within') }, async () => '')
    },
  ],
]

const schemaOf = (operationId: string) => ({ operationId, security: [], isStoreless: true })

function addRoutes(app: FastifyInstance, more = {}): void {
  app.get('/declares', { ...more, schema: { ...schemaOf('declares'), errors: [rateLimited] } }, async () => '')
  app.get('/forgets', { ...more, schema: schemaOf('forgets') }, async () => '')
}

it.each(ways.flatMap(([place, add]) => [refusing, throwing].map((hook) => ({ place, add, hook }))))(
  'what a hook of $place refuses on one route fails the suite unless all of them declare it',
  async ({ add, hook }) => {
    const app = Fastify()
    const undeclared = watchHooks(app)
    app.get('/other', { schema: schemaOf('other') }, async () => '')
    add(app, hook)
    expect((await app.inject('/declares')).statusCode).toBe(200)
    expect(undeclared()).toEqual([])
    expect((await app.inject({ url: '/declares', headers: { refuse: 'yes' } })).statusCode).not.toBe(200)
    expect(undeclared()).toEqual(
      ['/forgets', '/within'].map((url) => `GET ${url}: a hook of it refuses with RATE_LIMITED, which is not declared`),
    )
  },
)
