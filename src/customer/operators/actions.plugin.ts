import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { actionRoute } from '#src/http/body/action-route.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { at, type ErrorDefinition } from '#src/lib/app-error.ts'
import { HOUR_MILLISECONDS } from '#src/lib/duration.ts'
import { message } from '#src/lib/messages/message.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { loginErrors } from '#src/login/login.errors.ts'
import { DEFAULT_REGION } from '../credentials.ts'
import { customerErrors } from '../customer.errors.ts'
import { type Role, rightsOf } from '../rights.ts'
import { changedRole, NO_ROLE } from '../roles.ts'
import { createActions } from './actions.rule.ts'
import { customerAnswer, operatorKeyAnswer } from './answers.ts'
import { NEW_CUSTOMER_EXAMPLES, NEW_KEY_EXAMPLES } from './body-examples.ts'
import {
  AddedCustomerSchema,
  ChangedCustomerSchema,
  CustomerChangeSchema,
  CustomerParamsSchema,
  DisablingSchema,
  IssuedKeySchema,
  KeyParamsSchema,
  NewCustomerSchema,
  NewKeySchema,
  RevokedKeySchema,
  RotatedKeySchema,
  RotationSchema,
  RulesSchema,
} from './operators.schema.ts'

const plugin: PluginWith<'config' | 'store' | 'clock' | 'random'> = async (app, { config, store, clock, random }) => {
  const { directory, hashing } = app
  const actionsBy = createActions({ store, clock, random, hashPassword: hashing.hash })
  const actionsOf = (request: FastifyRequest) => actionsBy(request.access.customer.id, app.recordFor(request))
  const changed = async (id: string) => success({ Customer: customerAnswer(await directory.show(id)) })
  const keyAnswer = (key: Parameters<typeof operatorKeyAnswer>[0]) => operatorKeyAnswer(key, config.rateLimit)

  /** Reads an expiry, which must lie in the future. */
  const readExpiry = (text: string | null | undefined): number | undefined => {
    if (text === null || text === undefined) return undefined
    const time = Date.parse(text.toUpperCase())
    if (time > clock.now()) return time
    throw invalidRequest([{ path: '/ExpiresAt', message: message('PAST') }])
  }

  const routes: FastifyPluginAsyncTypebox = async (scope) => {
    scope.post('/Operator/customers', {
      ...actionRoute('Operator', 'addCustomer', {
        summary: 'Add a customer',
        description: 'Unknown fields are refused.',
        errors: [
          ...at('/Email', customerErrors.emailInvalid, customerErrors.emailTaken),
          ...at('/Name', customerErrors.nameInvalid),
          ...at('/Note', customerErrors.noteInvalid),
          ...at('/Regions', customerErrors.regionInvalid),
          ...at('/AuthorityRules', customerErrors.ruleInvalid),
          ...at(
            '/Password',
            customerErrors.passwordShort,
            customerErrors.passwordCommon,
            customerErrors.passwordUnusable,
          ),
          ...at('/IsReadOnly', customerErrors.readOnlyAlone),
          ...at('/SeesPayloads', customerErrors.payloadsAlone),
          loginErrors.overloaded,
        ],
        body: NewCustomerSchema,
        bodyExamples: NEW_CUSTOMER_EXAMPLES,
        answer: successSchema(AddedCustomerSchema, 'The customer, and its password if one was generated'),
      }),
      handler: async (request) => {
        const { Email, Name, Note, Password, IsAPI = false, ...more } = request.body
        const { Regions = [DEFAULT_REGION], AuthorityRules = [] } = more
        const role = roleIn(request.body)
        needPasswordFor(role, request)
        const wanted = { email: Email, name: Name, note: Note, isApi: IsAPI, ...role, regions: Regions }
        const { id, generated } = await actionsOf(request).add({ ...wanted, authority: AuthorityRules }, Password)
        return success({ Customer: customerAnswer(await directory.show(id)), Password: generated })
      },
    })

    const customer = {
      params: CustomerParamsSchema,
      answer: successSchema(ChangedCustomerSchema, 'The customer after the change'),
    }
    const inAnyCase = [customerErrors.notFound, customerErrors.removed]

    scope.post('/Operator/customer/:customerId/set', {
      ...actionRoute('Operator', 'setCustomer', {
        ...customer,
        summary: 'Change name, note or silence of a customer',
        description: 'What is missing stays; an empty text removes it.',
        errors: [...at('/Name', customerErrors.nameInvalid), ...at('/Note', customerErrors.noteInvalid), ...inAnyCase],
        body: CustomerChangeSchema,
        bodyExamples: {
          name: { summary: 'A name', value: { Name: 'Kitap A.Ş.' } },
          silence: { summary: 'Silent after six hours', value: { SilenceSeconds: 21_600 } },
        },
      }),
      handler: async (request) => {
        const { customerId } = request.params
        const { Name, Note, SilenceSeconds: seconds } = request.body
        const silence = typeof seconds === 'number' ? seconds * 1000 : seconds
        await actionsOf(request).set(customerId, { name: Name, note: Note, silence })
        return changed(customerId)
      },
    })

    scope.post('/Operator/customer/:customerId/disable', {
      ...actionRoute('Operator', 'disable', {
        ...customer,
        summary: 'Disable a customer',
        description: 'Its keys and tokens stop working. The body may be missing.',
        errors: [...at('/Reason', customerErrors.reasonInvalid), ...inAnyCase, customerErrors.self],
        body: DisablingSchema,
        bodyExamples: { reason: { summary: 'With a reason', value: { Reason: 'sends test orders' } } },
      }),
      handler: async (request) => {
        const { customerId } = request.params
        await actionsOf(request).disable(customerId, request.body.Reason)
        return changed(customerId)
      },
    })

    const bare = (name: 'enable' | 'revokeTokens', summary: string, description: string, ...own: ErrorDefinition[]) => {
      const action = { ...customer, summary, description, errors: [...inAnyCase, ...own] }
      scope.post(`/Operator/customer/:customerId/${name}`, {
        ...actionRoute('Operator', name, action),
        handler: async (request) => {
          const { customerId } = request.params
          if (name === 'enable') needPasswordFor((await directory.show(customerId)).customer, request)
          await actionsOf(request)[name](customerId)
          return changed(customerId)
        },
      })
    }
    const enabled = 'Its keys work again; tokens that were issued before stay revoked.'
    bare('enable', 'Enable a customer', enabled)
    const tokens = 'Every token that was issued to the customer so far stops working.'
    bare('revokeTokens', 'Revoke tokens', tokens, customerErrors.self)

    const rules = (name: 'allow' | 'disallow', summary: string, description: string, ...own: ErrorDefinition[]) => {
      const errors = [...at('/Rules', customerErrors.ruleInvalid), ...inAnyCase, ...at('/Rules', ...own)]
      scope.post(`/Operator/customer/:customerId/${name}`, {
        ...actionRoute('Operator', name, { ...customer, summary, description, errors, body: RulesSchema }),
        handler: async (request) => {
          const { customerId } = request.params
          // A few prefixes cover as much as `*`.
          if (name === 'allow' && request.body.Rules.some((rule) => rule.endsWith('*'))) request.needRecentPassword()
          await actionsOf(request)[name](customerId, request.body.Rules)
          return changed(customerId)
        },
      })
    }
    rules('allow', 'Add authority rules', 'The keys of the customer may deliver these products, too.')
    rules('disallow', 'Remove authority rules', 'Takes the exact spelling of each rule.', customerErrors.ruleMissing)

    scope.post('/Operator/customer/:customerId/keys', {
      ...actionRoute('Operator', 'issueKey', {
        summary: 'Issue an API key',
        description: 'The answer has the key itself, which cannot be shown again.',
        errors: [
          ...at('/Label', customerErrors.labelInvalid),
          ...at('/Networks', customerErrors.networkInvalid),
          ...inAnyCase,
        ],
        params: CustomerParamsSchema,
        body: NewKeySchema,
        bodyExamples: NEW_KEY_EXAMPLES,
        answer: successSchema(IssuedKeySchema, 'The key'),
      }),
      handler: async (request) => {
        request.needRecentPassword()
        const { Label, ExpiresAt, Networks, RateLimit } = request.body
        const limits = { networks: Networks, rateLimit: RateLimit, expiresAt: readExpiry(ExpiresAt) }
        const { view, key } = await actionsOf(request).issueKey(request.params.customerId, Label, limits)
        return success({ Key: keyAnswer(view), ApiKey: key })
      },
    })

    scope.post('/Operator/key/:keyId/rotate', {
      ...actionRoute('Operator', 'rotateKey', {
        summary: 'Replace an API key with a new one',
        description:
          'The new key has the label, the limits and the lifetime of the old one, which works until the overlap is over. The answer has the new key itself, which cannot be shown again.',
        errors: [customerErrors.keyNotFound, customerErrors.keyEnded, customerErrors.keyRotated],
        params: KeyParamsSchema,
        body: RotationSchema,
        bodyExamples: { day: { summary: 'Both keys work for a day', value: { OverlapHours: 24 } } },
        answer: successSchema(RotatedKeySchema, 'The new key, and the old one'),
      }),
      handler: async (request) => {
        request.needRecentPassword()
        const { OverlapHours, ExpiresAt } = request.body
        const wanted = {
          overlapMilliseconds: Math.round(OverlapHours * HOUR_MILLISECONDS),
          expiresAt: readExpiry(ExpiresAt),
        }
        const { view, key, replaced } = await actionsOf(request).rotateKey(request.params.keyId, wanted)
        return success({ Key: keyAnswer(view), ApiKey: key, Replaced: keyAnswer(replaced) })
      },
    })

    scope.post('/Operator/key/:keyId/revoke', {
      ...actionRoute('Operator', 'revokeKey', {
        summary: 'Revoke an API key',
        description: 'It stops working within a second.',
        errors: [customerErrors.keyNotFound],
        params: KeyParamsSchema,
        answer: successSchema(RevokedKeySchema, 'The key'),
      }),
      handler: async (request) => success({ Key: keyAnswer(await actionsOf(request).revokeKey(request.params.keyId)) }),
    })
  }

  app.register(app.needs('operate', 'change')(routes))
}

/** Who sees the data of others is not let in from a console that somebody finds open. */
function needPasswordFor(role: Role, request: FastifyRequest): void {
  if (rightsOf(role).has('all')) request.needRecentPassword()
}

/** A scope, or what was sent before there were scopes. */
function roleIn({ Scope, SeesPayloads = false, IsOperator, IsReadOnly }: Static<typeof NewCustomerSchema>): Role {
  const older = { operator: IsOperator, readOnly: IsReadOnly }
  if (Scope === undefined) return { ...changedRole(NO_ROLE, older), payloads: SeesPayloads }
  if (IsOperator === undefined && IsReadOnly === undefined) return { scope: Scope, payloads: SeesPayloads }
  throw invalidRequest([{ path: '/Scope', message: 'must not stand beside IsOperator or IsReadOnly' }])
}

export const operatorActionsPlugin = fastifyPlugin(plugin, {
  name: 'operator-actions',
  dependencies: ['token', 'audit', 'login', 'operator-reads'],
})
