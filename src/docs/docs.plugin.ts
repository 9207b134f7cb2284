import { setImmediate } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { keepAnswer, tagAnswer } from '#src/http/answers/read-answers.ts'
import { filesOf, type Page, serveFile, servePage, withNames } from '#src/http/pages/serve-page.ts'
import type { ErrorDefinition } from '#src/lib/app-error.ts'
import { programFile, readProgramFile } from '#src/lib/program-files.ts'
import { keptWork } from '#src/lib/shared-work.ts'
import type { OpenApi } from './contract/answers.ts'
import type { Form } from './contract/contract.ts'
import { type RegisteredRoute, type RouteSchema, refusalsOf } from './contract/errors.ts'

const PATH = '/docs'
/** Shown by the same page. */
const GUIDES = ['suppliers', 'tr/suppliers', 'api-customers', 'errors']

interface DocsOptions {
  readonly config: Config
  /** Every route of the server, once all are registered. */
  readonly routes: readonly RegisteredRoute[]
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Makes the contract of this server, each time it is called. */
    contract: () => Promise<OpenApi>
  }
}

/** Lists the routes as they are registered. A scope may still add to a schema that is in the list. */
export function listRoutes(app: FastifyInstance): readonly RegisteredRoute[] {
  const routes: RegisteredRoute[] = []
  app.addHook('onRoute', ({ method, url, schema = {} }) => {
    // Fastify adds HEAD to each GET.
    for (const each of [method].flat()) {
      if (each !== 'HEAD') routes.push({ method: each, url, schema: schema as RouteSchema })
    }
  })
  return routes
}

/** Everything that routes can refuse, each code once, when all are registered. */
export const errorsOf = (routes: readonly RegisteredRoute[]): ErrorDefinition[] => {
  const all = routes.flatMap(({ schema }) => [...refusalsOf(schema).values()].flat())
  return [...new Map(all.map((definition) => [definition.code, definition])).values()]
}

/** Not loaded before somebody asks, so that a start costs nothing more. */
const generator = () => import('./contract/contract.ts')

const plugin: FastifyPluginAsync<DocsOptions> = async (app, { config, routes }) => {
  const contract = async (): Promise<OpenApi> => (await generator()).contractOf(routes, config)
  app.decorate('contract', contract)
  const textOf = async (form: Form): Promise<string> => {
    const { TEXTS } = await generator()
    // Other requests have their turn between the parts of the work.
    await setImmediate()
    const document = await contract()
    await setImmediate()
    return TEXTS[form](document)
  }

  const serveContract = (form: 'yaml' | 'json', about: object, json: object): void => {
    const load = keptWork(async () => keepAnswer(await textOf(form)))
    const schema = {
      operationId: form === 'yaml' ? 'openapi' : 'openapiJson',
      isTagged: true,
      isStoreless: true,
      tags: ['Operation'],
      ...about,
      response: { 200: { description: 'The contract, as OpenAPI 3.1', ...json } },
    }
    app.get(`/openapi.${form}`, { schema }, async (_request, reply) => {
      reply.header('cache-control', 'public, max-age=60').type(`application/${form}; charset=utf-8`)
      tagAnswer(reply)
      return load()
    })
  }
  serveContract(
    'yaml',
    {
      summary: 'OpenAPI document',
      description: 'This contract, as the settings of this service make it.',
    },
    { content: { 'application/yaml': { schema: { type: 'string', examples: ['openapi: 3.1.0\n'] } } } },
  )
  serveContract(
    'json',
    {
      summary: 'OpenAPI document as JSON',
      description: 'The same as /openapi.yaml, for tools that read no YAML. It stands alone, in no envelope.',
    },
    Type.Object({ openapi: Type.String({ examples: ['3.1.0'] }) }, { additionalProperties: true }),
  )

  if (config.docs === 'off') return
  servePage(app, [PATH, ...GUIDES.map((name) => `${PATH}/${name}`)], docsPage)
  for (const name of GUIDES)
    serveFile(app, `${PATH}/${name}.md`, async () => readProgramFile(programFile(`../docs/${name}.md`)))
  for (const part of ['reference', 'operators'] as const) serveFile(app, `${PATH}/${part}.json`, () => textOf(part))
}

async function docsPage(): Promise<Page> {
  const files = await filesOf('page/start.ts', 'docs/page/page.ts', 'docs/page/page.css')
  return { html: withNames(readProgramFile(programFile('docs/page/index.html')), PATH, files), files }
}

export const docsPlugin = fastifyPlugin(plugin, { name: 'docs' })
