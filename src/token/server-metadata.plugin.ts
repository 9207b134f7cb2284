import { Type } from '@sinclair/typebox'
import fastifyPlugin from 'fastify-plugin'
import { tagAnswer } from '#src/http/answers/read-answers.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { named } from '#src/lib/json/schema-parts.ts'

/** An issuer of RFC 8414, section 2, whose path has no character that means something in the pattern of a route. */
const ISSUER = /^https:\/\/[^/?#@]+((?:\/[\w.~-]+)*)\/?$/

/**
 * Says where the public keys are, for libraries that verify tokens and know only their issuer: at the address of RFC 8414, section 3,
 * which has the path of the issuer at its end, and at that of OpenID Connect, which most libraries try first. The latter begins with
 * the path of the issuer, which the proxy has removed.
 */
const plugin: PluginWith<'config'> = async (app, { config }) => {
  const { tokenIssuer: issuer, tokenAlgorithm } = config
  const [, path] = ISSUER.exec(issuer) ?? []
  if (path === undefined || !URL.canParse(issuer)) return
  const metadata = {
    issuer,
    jwks_uri: `${issuer.replace(/\/$/, '')}/.well-known/jwks.json`,
    response_types_supported: ['none'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [tokenAlgorithm],
  }
  const shape = named(
    'ServerMetadata',
    {
      issuer: Type.String(),
      jwks_uri: Type.String({ description: 'Where the public keys are' }),
      response_types_supported: Type.Array(Type.String(), { description: 'None: there is no authorization endpoint' }),
      subject_types_supported: Type.Array(Type.String()),
      id_token_signing_alg_values_supported: Type.Array(Type.String(), { description: 'Of access tokens' }),
    },
    { description: 'Metadata as in RFC 8414', examples: [metadata] },
  )
  const serve = (url: string, operationId: string, about: object): void => {
    const schema = { operationId, ...about, isTagged: true, tags: ['Token'], response: { 200: shape } }
    app.get(url, { schema }, async (_request, reply) => {
      reply.header('cache-control', 'public, max-age=60')
      tagAnswer(reply)
      return metadata
    })
  }
  serve(`/.well-known/oauth-authorization-server${path}`, 'serverMetadata', {
    summary: 'Who issues the access tokens, and where the public keys are',
    description: 'For libraries that verify access tokens and know their issuer only. The login is no grant of OAuth.',
  })
  serve('/.well-known/openid-configuration', 'openidConfiguration', {
    summary: 'The same, where OpenID Connect has it',
    description: 'For libraries that look here only. There are no ID tokens.',
  })
}

export const serverMetadataPlugin = fastifyPlugin(plugin, { name: 'server-metadata' })
