import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { Config } from '#src/config/load-config.ts'
import { VERSION } from '#src/lib/version.ts'
import { success, successSchema } from './envelope.ts'

const path = (example: string) => Type.String({ examples: [example] })

const rootSchema = (links: object) =>
  Type.Object({
    Name: Type.Literal('teslim'),
    Version: Type.String({ examples: [VERSION] }),
    Links: Type.Object(
      {
        Docs: Type.Optional(path('/docs')),
        Console: Type.Optional(path('/console')),
        OpenApi: path('/openapi.yaml'),
        Ready: path('/readyz'),
        PublicKeys: path('/.well-known/jwks.json'),
      },
      { description: 'Docs and Console are absent where that page is turned off', examples: [links] },
    ),
  })

/** Answers `GET /`, the first request of most people. */
export const rootPlugin: FastifyPluginAsyncTypebox<{ readonly config: Config }> = async (app, { config }) => {
  const Docs = config.docs === 'on' ? { Docs: '/docs' } : {}
  const Console = config.console === 'on' ? { Console: '/console' } : {}
  const Links = {
    ...Docs,
    ...Console,
    OpenApi: '/openapi.yaml',
    Ready: '/readyz',
    PublicKeys: '/.well-known/jwks.json',
  }
  const schema = {
    summary: 'Name, version and links',
    operationId: 'root',
    isStoreless: true,
    description: 'Says what answers at this address and where its documentation is.',
    tags: ['Operation'],
    response: { 200: successSchema(rootSchema(Links), 'The service') },
  }
  app.get('/', { schema }, async () => success({ Name: 'teslim' as const, Version: VERSION, Links }))
}
