import { readFile } from 'node:fs/promises'
import type { FastifyPluginAsync } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { keepAnswer } from '#src/http/answers/kept-answers.ts'
import { tagAnswer } from '#src/http/answers/read-answers.ts'
import { failures } from '#src/http/envelope.ts'
import { keptWork } from '#src/lib/shared-work.ts'
import { asYaml, servedContract, type Variants } from './served-contract.ts'

/** Scripts, styles and data of this service only, nothing inline, and no HTML made from text. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

const SCRIPTS = ['page', 'operation', 'form', 'text']
const GUIDES = ['suppliers', 'api-customers']
const FILES = [
  { path: '/docs', type: 'text/html', file: './page/index.html' },
  { path: '/docs/page.css', type: 'text/css', file: './page/page.css' },
  ...SCRIPTS.map((name) => ({ path: `/docs/${name}.js`, type: 'text/javascript', file: `./page/${name}.js` })),
  // A guide is shown by the same page.
  ...GUIDES.map((name) => ({ path: `/docs/${name}`, type: 'text/html', file: './page/index.html' })),
  ...GUIDES.map((name) => ({ path: `/docs/${name}.md`, type: 'text/markdown', file: `../../docs/${name}.md` })),
]

const read = (path: string): Promise<string> => readFile(new URL(path, import.meta.url), 'utf8')

export interface DocsOptions {
  readonly config: Config
}

export const docsPlugin: FastifyPluginAsync<DocsOptions> = async (app, { config }) => {
  const variants = keptWork(
    async () => JSON.parse(await read('./contract-variants.json')) as { yaml: Variants; json: Variants },
  )
  const contract = keptWork(async () =>
    keepAnswer(servedContract(await read('../../openapi.yaml'), (await variants()).yaml, config, asYaml)),
  )
  const schema = {
    summary: 'OpenAPI document',
    description: 'This contract, with the field names and credentials that the settings of this service ask for.',
    operationId: 'openapi',
    isTagged: true,
    tags: ['Operation'],
    response: {
      200: {
        description: 'The contract, as OpenAPI 3.1',
        content: { 'application/yaml': { schema: { type: 'string', examples: ['openapi: 3.1.0\n'] } } },
      },
      ...failures(500),
    },
  }
  app.get('/openapi.yaml', { schema }, async (_request, reply) => {
    reply.header('cache-control', 'public, max-age=60').type('application/yaml; charset=utf-8')
    tagAnswer(reply)
    return contract()
  })

  if (config.docs === 'off') return
  const serve = (path: string, type: string, text: () => Promise<string>): void => {
    const load = keptWork(async () => keepAnswer(await text()))
    app.get(path, { schema: { hide: true } as object }, async (_request, reply) => {
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
  for (const { path, type, file } of FILES) serve(path, type, () => read(file))
  serve('/docs/reference.json', 'application/json', async () =>
    withoutSpace(servedContract(await read('./page/reference.json'), (await variants()).json, config)),
  )
}

const withoutSpace = (json: string): string => JSON.stringify(JSON.parse(json))
