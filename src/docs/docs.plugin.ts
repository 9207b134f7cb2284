import { setImmediate } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { keepAnswer, tagAnswer } from '#src/http/answers/read-answers.ts'
import { programFile, readProgramFile } from '#src/lib/program-files.ts'
import { keptWork } from '#src/lib/shared-work.ts'
import type { OpenApi } from './contract/answers.ts'
import type { Form } from './contract/contract.ts'
import { type RegisteredRoute, type RouteSchema, refusalsOf } from './contract/errors.ts'

/** Scripts, styles and data of this service only, nothing inline, and no HTML made from text. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

const SCRIPTS = ['page', 'operation', 'form', 'text']
const GUIDES = ['suppliers', 'tr/suppliers', 'api-customers']
const FILES = [
  { path: '/docs', type: 'text/html', file: 'docs/page/index.html' },
  { path: '/docs/page.css', type: 'text/css', file: 'docs/page/page.css' },
  ...SCRIPTS.map((name) => ({ path: `/docs/${name}.js`, type: 'text/javascript', file: `docs/page/${name}.js` })),
  // A guide is shown by the same page.
  ...GUIDES.map((name) => ({ path: `/docs/${name}`, type: 'text/html', file: 'docs/page/index.html' })),
  ...GUIDES.map((name) => ({ path: `/docs/${name}.md`, type: 'text/markdown', file: `../docs/${name}.md` })),
]

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

/** The codes of everything that routes can refuse, once all are registered. */
export const codesOf = (routes: readonly RegisteredRoute[]): Set<string> =>
  new Set(routes.flatMap(({ schema }) => [...refusalsOf(schema).values()].flat().map(({ code }) => code)))

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
  const serve = (path: string, type: string, text: () => Promise<string>): void => {
    const load = keptWork(async () => keepAnswer(await text()))
    app.get(path, { schema: { hide: true } }, async (_request, reply) => {
      reply.type(`${type}; charset=utf-8`)
      if (type === 'text/html') reply.header('content-security-policy', PAGE_POLICY)
      else {
        // Kept by browsers and checked each time, so that scripts and data never are of another version than the page.
        reply.header('cache-control', 'no-cache')
        tagAnswer(reply)
      }
      return load()
    })
  }
  for (const { path, type, file } of FILES) serve(path, type, async () => readProgramFile(programFile(file)))
  for (const part of ['reference', 'operators'] as const)
    serve(`/docs/${part}.json`, 'application/json', () => textOf(part))
}

export const docsPlugin = fastifyPlugin(plugin, { name: 'docs' })
