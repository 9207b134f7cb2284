import Fastify from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { expect, it } from 'vitest'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { installErrorHandler } from '#src/http/error-handler.ts'
import { installReadiness } from '#src/http/readiness.ts'
import { systemRandom } from '#src/lib/random.ts'
import { createVersionWatch } from '#src/lib/version-watch.ts'
import { operatorErrors } from '#src/token/operator.errors.ts'
import { tokenPlugin } from '#src/token/token.plugin.ts'
import { failure } from '../support/app/failure.ts'
import { addCustomer, PASSWORD, testApp } from '../support/app/test-app.ts'
import { atTheEnd } from '../support/at-the-end.ts'

const service = await testApp()
const { config, store, clock, customers } = service

const schemas: Record<string, object> = {}
const app = Fastify()
for (const name of ['customerId', 'errorCode', 'refusal']) app.decorateRequest(name, null)
installReadiness(app, store, undefined)
installErrorHandler(app)
app.addHook('onRoute', ({ url, schema = {} }) => {
  schemas[url] = schema
})
const versions = createVersionWatch(store.accountVersion, clock)
app.register(tokenPlugin, { config, store, versions, clock, random: systemRandom })
app.register(
  fastifyPlugin(
    async (parent) => {
      const answer = async () => ({ done: true })
      parent.register(parent.needs()(async (scope) => void scope.get('/any', { schema: {} }, answer)))
      parent.register(
        parent.needs('operate')(
          async (scope) => void scope.get('/read', { schema: { errors: [customerErrors.notFound] } }, answer),
        ),
      )
      parent.register(parent.needs('operate', 'read')(async (scope) => void scope.get('/more', { schema: {} }, answer)))
      parent.register(parent.needs('look')(async (scope) => void scope.get('/look', { schema: {} }, answer)))
      parent.register(
        parent.needs('operate', 'change')(async (scope) => void scope.post('/change', { schema: {} }, answer)),
      )
    },
    { dependencies: ['token'] },
  ),
)
atTheEnd(() => app.close())
await app.ready()

const tokenOf = async (more: Parameters<typeof addCustomer>[1]): Promise<{ id: string; token: string }> => {
  const { id, email } = await addCustomer(service, more)
  return { id, token: (await service.login({ Email: email, Password: PASSWORD })).json().data.Token }
}

/** Asks for any token, for an operator's, and for that of an operator with all rights. */
const codesFor = async (token?: string): Promise<string[]> => {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const answers = await Promise.all([
    app.inject({ url: '/any', headers }),
    app.inject({ url: '/read', headers }),
    app.inject({ method: 'POST', url: '/change', headers }),
  ])
  return answers.map((answer) => answer.json().errorCode ?? `${answer.statusCode}`)
}

const customer = await tokenOf({})
const reader = await tokenOf({ scope: 'operator:read' })
const operator = await tokenOf({ scope: 'operator' })

it.each([
  ['a customer', { scope: 'customer' }, ['200', 'OPERATOR_REQUIRED']],
  ['a follower of the feed', { scope: 'feed' }, ['FEED_ONLY', 'OPERATOR_REQUIRED']],
  ['an operator for support', { scope: 'operator:support', payloads: true }, ['200', 'OPERATOR_FOR_SUPPORT']],
  ['a read-only operator', { scope: 'operator:read' }, ['200', '200']],
] as const)('%s looks and reads as far as its token allows', async (_who, role, codes) => {
  const headers = { authorization: `Bearer ${(await tokenOf(role)).token}` }
  const answers = await Promise.all(['/look', '/more'].map((url) => app.inject({ url, headers })))
  expect(answers.map((answer) => answer.json().errorCode ?? `${answer.statusCode}`)).toEqual(codes)
})

it.each([
  ['nobody', undefined, ['TOKEN_MISSING', 'TOKEN_MISSING', 'TOKEN_MISSING']],
  ['a customer', customer.token, ['200', 'OPERATOR_REQUIRED', 'OPERATOR_REQUIRED']],
  ['a read-only operator', reader.token, ['200', '200', 'OPERATOR_READ_ONLY']],
  ['an operator', operator.token, ['200', '200', '200']],
])('%s gets what its token allows', async (_who, token, codes) => {
  expect(await codesFor(token)).toEqual(codes)
})

it('a refusal is a 403 in the envelope', async () => {
  const headers = { authorization: `Bearer ${customer.token}` }
  const answer = await app.inject({ method: 'POST', url: '/change', headers })
  expect(answer.statusCode).toBe(403)
  expect(answer.json()).toEqual(failure('OPERATOR_REQUIRED'))
})

it('a token gives no more rights than its owner has by now', async () => {
  const former = await tokenOf({ scope: 'operator' })
  await store.customers.change(former.id, { scope: 'operator:read' })
  expect(await codesFor(former.token)).toEqual(['200', '200', 'OPERATOR_READ_ONLY'])
  await store.customers.change(former.id, { scope: 'customer' })
  expect(await codesFor(former.token)).toEqual(['200', 'OPERATOR_REQUIRED', 'OPERATOR_REQUIRED'])
  const promoted = await tokenOf({ scope: 'operator:read' })
  await store.customers.change(promoted.id, { scope: 'operator' })
  expect(await codesFor(promoted.token)).toEqual(['200', '200', 'OPERATOR_READ_ONLY'])
  const disabled = await tokenOf({ scope: 'operator' })
  await customers.disable(disabled.id)
  expect(await codesFor(disabled.token)).toEqual(['TOKEN_REVOKED', 'TOKEN_REVOKED', 'TOKEN_REVOKED'])
})

it('the schema of a route names its credentials, and the refusals of its scope', () => {
  const security = [{ bearer: [] }]
  expect(schemas).toMatchObject({
    '/any': { security, errors: [] },
    '/read': { security, errors: [customerErrors.notFound, operatorErrors.required] },
    '/more': { security, errors: [operatorErrors.required, operatorErrors.support] },
    '/look': { security, errors: [operatorErrors.feedOnly] },
    '/change': {
      security,
      errors: [operatorErrors.required, operatorErrors.readOnly, operatorErrors.reauthentication],
    },
  })
})
