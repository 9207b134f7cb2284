import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { keepUncompressed, tagAnswer } from '#src/http/answers/read-answers.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { authorizationOf, bearerToken } from '#src/http/request-head.ts'
import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import { toSeconds } from '#src/lib/clock.ts'
import { named } from '#src/lib/json/schema-parts.ts'
import { operatorNetworks } from '#src/lib/net/networks.ts'
import type { Access, CurrentCustomers, Right } from './access.ts'
import { createAccessTokens, createCurrentCustomers, createSessionCheck } from './access-token.ts'
import { type AccessWatch, createAccessWatch } from './access-watch.ts'
import { createKeySealing } from './key-sealing.ts'
import { operatorErrors } from './operator.errors.ts'
import { type AccessTokensByAddress, withinNetworks } from './operator-networks.ts'
import { NEEDING_PASSWORD } from './recent-password.ts'
import { createSigner } from './signer.ts'
import { createSigningKeys } from './signing-keys.ts'
import { keyExample } from './token-example.ts'

type Scope = (routes: FastifyPluginAsyncTypebox) => FastifyPluginAsyncTypebox

declare module 'fastify' {
  interface FastifyInstance {
    accessTokens: AccessTokensByAddress
    currentCustomers: CurrentCustomers
    accessWatch: AccessWatch
    /** Makes a scope whose routes need a bearer token with these rights. */
    needs: (...rights: readonly Right[]) => Scope
  }
  interface FastifyRequest {
    /** The customer, region and rights of the bearer token; set for routes that need one only. */
    access: Access
    /** Who sends the request; a supplier is known by its API key. */
    caller: Pick<Access, 'customer' | 'seesAll'>
    /** Refuses the request if its token lacks a right. An API key has all of them, for its own customer. */
    need(right: Right): void
    /** Refuses the request if its token is of a session whose password was entered too long ago. */
    needRecentPassword(): void
  }
}

const jwksSchema = (config: Config) =>
  Type.Object(
    {
      keys: Type.Array(
        named(
          'PublicKey',
          {
            kty: Type.String(),
            crv: Type.String(),
            x: Type.String(),
            y: Type.Optional(Type.String({ description: 'For ES256 only' })),
            kid: Type.String({ description: 'RFC 7638 thumbprint' }),
            alg: Type.String({ description: 'ES256 or EdDSA' }),
            use: Type.Literal('sig'),
          },
          { examples: [keyExample(config)] },
        ),
      ),
    },
    { description: 'A JWK Set as in RFC 7517' },
  )

const NO_SECRET =
  'signing keys are stored unencrypted: set TESLIM_SECRET (or TESLIM_SECRET_FILE), restart, then run teslim signing-key rewrap'
const NO_SECRET_YET = 'signing keys are stored unencrypted: set TESLIM_SECRET before production'
const NOT_REWRAPPED = 'some signing keys are not encrypted under TESLIM_SECRET: run teslim signing-key rewrap'

const plugin: PluginWith<'config' | 'store' | 'versions' | 'clock' | 'random'> = async (
  app,
  { config, store, versions, clock, random },
) => {
  const { secret, formerSecret } = config
  const keys = createSigningKeys({
    store: store.signingKeys,
    sealing: createKeySealing({ secret, formerSecret, random }),
    versions,
    clock,
    algorithm: config.tokenAlgorithm,
    ttlSeconds: config.tokenTtlSeconds,
    onRotated: (kid) => app.log.info({ kid }, 'a new signing key replaces an old one'),
    onRotationFailed: (error) => app.log.warn({ err: error }, 'the signing keys could not be renewed or deleted'),
  })
  app.readiness.onceOpen(async () => {
    // Fails the start, not the first login, if a key cannot be opened.
    const wrappings = await keys.openAll()
    // Outside production there is nothing of value to sign, so this is not a warning.
    if (secret === '' && config.environment === 'production') app.log.warn(NO_SECRET)
    else if (secret === '') app.log.info(NO_SECRET_YET)
    else if (wrappings.some((wrapping) => wrapping !== 'secret')) app.log.warn(NOT_REWRAPPED)
  })

  const customers = createCurrentCustomers(store.customers, versions)
  const signer = createSigner()
  app.addHook('onClose', () => signer.close())
  const accessTokens = createAccessTokens({
    keys,
    signer,
    customers,
    sessions: createSessionCheck(store.consoleSessions, versions),
    clock,
    random,
    issuer: config.tokenIssuer,
    audience: config.tokenAudience,
    ttlSeconds: config.tokenTtlSeconds,
  })
  const networks = operatorNetworks(config.operatorNetworks)
  app.decorate('accessTokens', networks === undefined ? accessTokens : withinNetworks(accessTokens, networks))
  app.decorate('currentCustomers', customers)
  app.decorate('accessWatch', createAccessWatch(versions, clock))
  app.decorate('needs', scopeNeeding)
  app.decorateRequest('access')
  app.decorateRequest('caller')
  app.decorateRequest('need', function (right) {
    if (!(this.access?.rights.has(right) ?? true)) throw new AppError(LACKING[right])
  })

  app.decorateRequest('needRecentPassword', function () {
    const { url = '' } = this.routeOptions
    if (!(url in NEEDING_PASSWORD)) throw new Error(`${url} is missing in NEEDING_PASSWORD`)
    const { session } = this.access
    if (session === undefined) return
    const age = toSeconds(clock.now()) - session.authAt
    if (age > RECENT_SECONDS || age < -AHEAD_SECONDS) throw new AppError(operatorErrors.reauthentication)
  })

  const schema = {
    summary: 'The public keys that verify access tokens',
    operationId: 'jwks',
    isTagged: true,
    description: `Fetch them again when a token names an unknown kid: keys are replaced from time to time. New tokens are signed with ${config.tokenAlgorithm}; iss is ${config.tokenIssuer}, aud is ${config.tokenAudience}.`,
    tags: ['Token'],
    response: { 200: jwksSchema(config) },
  }
  app.get('/.well-known/jwks.json', { schema }, async (_request, reply) => {
    reply.header('cache-control', 'public, max-age=60')
    tagAnswer(reply)
    return keys.jwks()
  })
}

/** How long after the password was entered a session does what `NEEDING_PASSWORD` names. */
const RECENT_SECONDS = 15 * 60
/** How far the clock of another replica, which has begun the session, may be ahead. */
const AHEAD_SECONDS = 60

/** How a token is refused that lacks a right. */
const LACKING: Readonly<Record<Right, ErrorDefinition>> = {
  all: operatorErrors.required,
  look: operatorErrors.feedOnly,
  payloads: operatorErrors.payloads,
  operate: operatorErrors.required,
  read: operatorErrors.support,
  change: operatorErrors.readOnly,
}

/** What somebody tried to change, or to see beyond its role, belongs in the audit log. */
const RECORDED: ReadonlySet<ErrorDefinition> = new Set([
  operatorErrors.readOnly,
  operatorErrors.feedOnly,
  operatorErrors.payloads,
])

/** Makes a scope whose routes need a bearer token. One that lacks several rights is refused for the first of them. */
const scopeNeeding =
  (...rights: readonly Right[]): Scope =>
  (routes) =>
    async function authenticatedScope(scope) {
      const check = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
        const access = await scope.accessTokens.verify(bearerToken(authorizationOf(request.raw)), request.address)
        request.access = access
        request.caller = access
        request.customerId = access.customer.id
        request.budgetOwner = access.customer.id
        request.takesCodes = access.rights.has('operate')
        for (const right of rights) request.need(right)
        // Operators' answers have data of several customers, and some have secrets beside what was sent.
        if (rights.includes('operate')) keepUncompressed(reply)
      }
      scope.addHook('onRequest', check)
      // The token may be revoked while a body arrives.
      if (rights.includes('change')) scope.addHook('preValidation', check)
      scope.addHook('onRoute', (route) => {
        const { schema = {} } = route
        const asked = rights.includes('change') ? [operatorErrors.reauthentication] : []
        const all = new Set([...(schema.errors ?? []), ...rights.map((right) => LACKING[right]), ...asked])
        if (!all.isDisjointFrom(RECORDED)) route.config = { ...route.config, forbiddenAs: 'operator.refused' }
        // In place: whoever writes the contract has seen this schema already, and HEAD has the one of GET.
        Object.assign(schema, { security: [{ bearer: [] }], errors: [...all] })
      })
      await scope.register(routes)
    }

export const tokenPlugin = fastifyPlugin(plugin, { name: 'token' })
