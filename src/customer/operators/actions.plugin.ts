import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { readingBody } from '#src/http/body/json-body.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import type { ErrorDefinition } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Random } from '#src/lib/random.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { loginErrors } from '#src/login/login.errors.ts'
import type { Store } from '#src/store/store.ts'
import { customerErrors } from '../customer.errors.ts'
import { DEFAULT_REGION } from '../region.ts'
import { createActions } from './actions.rule.ts'
import { customerAnswer, operatorKeyAnswer } from './answers.ts'
import { operatorsErrors } from './operators.errors.ts'
import {
  AddedCustomerSchema,
  ChangedCustomerSchema,
  CustomerParamsSchema,
  IssuedKeySchema,
  KeyParamsSchema,
  NewCustomerSchema,
  NewKeySchema,
  RevokedKeySchema,
  RotatedKeySchema,
  RotationSchema,
  RulesSchema,
} from './operators.schema.ts'

export interface OperatorActionsOptions {
  readonly config: Config
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
}

const HOUR = 3_600_000
const TAGS = { tags: ['Operator'] }
/** A Content-Type that cannot be read is refused even without a body. */
const BODY = { consumes: ['application/json'] }

const plugin: FastifyPluginAsyncTypebox<OperatorActionsOptions> = async (app, { config, store, clock, random }) => {
  const { directory, hashing } = app
  const actionsBy = createActions({
    store,
    clock,
    random,
    hashPassword: hashing.hash,
    onUnrecorded: (action, requestId, error) =>
      app.log.warn({ requestId, action, err: error }, 'an action is done, but could not be written to the audit log'),
  })
  const actionsOf = ({ access, address, id }: FastifyRequest) =>
    actionsBy({ operator: access.customer, address, requestId: id })
  const changed = async (id: string) => success({ Customer: customerAnswer(await directory.show(id)) })
  const keyAnswer = (key: Parameters<typeof operatorKeyAnswer>[0]) => operatorKeyAnswer(key, config.rateLimit)

  /** Reads an expiry, which must lie in the future. */
  const readExpiry = (text: string | null | undefined): number | undefined => {
    if (text === null || text === undefined) return undefined
    const time = Date.parse(text.toUpperCase())
    if (time > clock.now()) return time
    throw invalidRequest([{ path: '/ExpiresAt', message: 'must be in the future' }])
  }

  const routes: FastifyPluginAsyncTypebox = async (scope) => {
    const add = {
      summary: 'Add a customer',
      operationId: 'operatorAddCustomer',
      description: 'Unknown fields are refused.',
      ...TAGS,
      ...BODY,
      errors: [
        customerErrors.emailInvalid,
        customerErrors.regionInvalid,
        customerErrors.ruleInvalid,
        customerErrors.passwordShort,
        customerErrors.passwordCommon,
        customerErrors.passwordUnusable,
        customerErrors.readOnlyAlone,
        customerErrors.emailTaken,
        loginErrors.overloaded,
      ],
      body: NewCustomerSchema,
      bodyExamples: {
        supplier: {
          summary: 'A customer that logs in and delivers some products',
          value: { Email: 'shop@example.com', IsAPI: true, Regions: ['TR'], AuthorityRules: ['SKU-*'] },
        },
        operator: {
          summary: 'A read-only operator with a password of its own choice',
          value: {
            Email: 'reader@example.com',
            Password: 'correct horse battery staple',
            IsAPI: true,
            IsOperator: true,
            IsReadOnly: true,
          },
        },
      },
      response: {
        200: successSchema(AddedCustomerSchema, 'The customer, and its password if one was generated'),
      },
    }
    scope.post('/Operator/customers', {
      schema: add,
      ...readingBody(NewCustomerSchema),
      handler: async (request) => {
        const { Email, Password, IsAPI = false, IsOperator = false, IsReadOnly = false, ...more } = request.body
        const { Regions = [DEFAULT_REGION], AuthorityRules = [] } = more
        const wanted = { email: Email, isApi: IsAPI, operator: IsOperator, readOnly: IsReadOnly, regions: Regions }
        const { id, generated } = await actionsOf(request).add({ ...wanted, authority: AuthorityRules }, Password)
        return success({ Customer: customerAnswer(await directory.show(id)), Password: generated })
      },
    })

    const bare = (
      name: 'enable' | 'disable' | 'revokeTokens',
      summary: string,
      description: string,
      errors: ErrorDefinition[],
    ) => {
      const schema = {
        summary,
        operationId: `operator${name.charAt(0).toUpperCase()}${name.slice(1)}`,
        description: `${description} Takes no body.`,
        ...TAGS,
        ...BODY,
        errors: [customerErrors.notFound, customerErrors.removed, ...errors],
        params: CustomerParamsSchema,
        response: {
          200: successSchema(ChangedCustomerSchema, 'The customer after the change'),
        },
      }
      scope.post(`/Operator/customer/:customerId/${name}`, { schema }, async (request) => {
        const { customerId } = request.params
        await actionsOf(request)[name](customerId)
        return changed(customerId)
      })
    }
    bare('disable', 'Disable a customer', 'Its keys and tokens stop working.', [operatorsErrors.self])
    bare('enable', 'Enable a customer', 'Its keys work again; tokens that were issued before stay revoked.', [])
    bare('revokeTokens', 'Revoke tokens', 'Every token that was issued to the customer so far stops working.', [
      operatorsErrors.self,
    ])

    const rules = (name: 'allow' | 'disallow', summary: string, description: string, errors: ErrorDefinition[]) => {
      const schema = {
        summary,
        operationId: `operator${name.charAt(0).toUpperCase()}${name.slice(1)}`,
        description,
        ...TAGS,
        ...BODY,
        errors: [customerErrors.ruleInvalid, customerErrors.notFound, customerErrors.removed, ...errors],
        params: CustomerParamsSchema,
        body: RulesSchema,
        response: {
          200: successSchema(ChangedCustomerSchema, 'The customer after the change'),
        },
      }
      scope.post(`/Operator/customer/:customerId/${name}`, {
        schema,
        ...readingBody(RulesSchema),
        handler: async (request) => {
          const { customerId } = request.params
          await actionsOf(request)[name](customerId, request.body.Rules)
          return changed(customerId)
        },
      })
    }
    rules('allow', 'Add authority rules', 'The keys of the customer may deliver these products, too.', [])
    rules('disallow', 'Remove authority rules', 'Takes the exact spelling of each rule.', [customerErrors.ruleMissing])

    const issue = {
      summary: 'Issue an API key',
      operationId: 'operatorIssueKey',
      description: 'The answer has the key itself, which cannot be shown again.',
      ...TAGS,
      ...BODY,
      errors: [
        customerErrors.labelInvalid,
        customerErrors.networkInvalid,
        customerErrors.notFound,
        customerErrors.removed,
      ],
      params: CustomerParamsSchema,
      body: NewKeySchema,
      bodyExamples: {
        limited: { summary: 'A key with a limit of deliveries', value: { Label: 'erp', RateLimit: 600 } },
        bound: {
          summary: 'A key that ends, and works from one network only',
          value: { Label: 'erp', ExpiresAt: '2027-11-21T00:00:00Z', Networks: ['203.0.113.0/24'] },
        },
      },
      response: {
        200: successSchema(IssuedKeySchema, 'The key'),
      },
    }
    scope.post('/Operator/customer/:customerId/keys', {
      schema: issue,
      ...readingBody(NewKeySchema),
      handler: async (request) => {
        const { Label, ExpiresAt, Networks, RateLimit } = request.body
        const limits = { networks: Networks, rateLimit: RateLimit, expiresAt: readExpiry(ExpiresAt) }
        const { view, key } = await actionsOf(request).issueKey(request.params.customerId, Label, limits)
        return success({ Key: keyAnswer(view), ApiKey: key })
      },
    })

    const rotate = {
      summary: 'Replace an API key with a new one',
      operationId: 'operatorRotateKey',
      description:
        'The new key has the label, the limits and the lifetime of the old one, which works until the overlap is over. The answer has the new key itself, which cannot be shown again.',
      ...TAGS,
      ...BODY,
      errors: [customerErrors.keyNotFound, customerErrors.keyEnded, customerErrors.keyRotated],
      params: KeyParamsSchema,
      body: RotationSchema,
      bodyExamples: { day: { summary: 'Both keys work for a day', value: { OverlapHours: 24 } } },
      response: {
        200: successSchema(RotatedKeySchema, 'The new key, and the old one'),
      },
    }
    scope.post('/Operator/key/:keyId/rotate', {
      schema: rotate,
      ...readingBody(RotationSchema),
      handler: async (request) => {
        const { OverlapHours, ExpiresAt } = request.body
        const wanted = { overlapMilliseconds: Math.round(OverlapHours * HOUR), expiresAt: readExpiry(ExpiresAt) }
        const { view, key, replaced } = await actionsOf(request).rotateKey(request.params.keyId, wanted)
        return success({ Key: keyAnswer(view), ApiKey: key, Replaced: keyAnswer(replaced) })
      },
    })

    const revoke = {
      summary: 'Revoke an API key',
      operationId: 'operatorRevokeKey',
      description: 'It stops working immediately. Takes no body.',
      ...TAGS,
      ...BODY,
      errors: [customerErrors.keyNotFound],
      params: KeyParamsSchema,
      response: { 200: successSchema(RevokedKeySchema, 'The key') },
    }
    scope.post('/Operator/key/:keyId/revoke', { schema: revoke }, async (request) =>
      success({ Key: keyAnswer(await actionsOf(request).revokeKey(request.params.keyId)) }),
    )
  }

  app.register(app.fullOperators(routes))
}

export const operatorActionsPlugin = fastifyPlugin(plugin, {
  name: 'operator-actions',
  dependencies: ['token', 'hashing', 'operator-reads'],
})
