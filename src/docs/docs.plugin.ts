import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyPluginAsync } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { failures } from '#src/http/envelope.ts'
import { servedContract, type Variants } from './served-contract.ts'

/** Everything from this service and nothing inline, so that neither a script nor a style can be slipped in. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const own = (name: string) => new URL(`./page/${name}`, import.meta.url)
// Its files only: the plugin itself would bring six more routes, a file server and a looser policy.
const renderer = (name: string) => new URL(import.meta.resolve(`@fastify/swagger-ui/static/${name}`))

const FILES = [
  { path: '/docs', type: 'text/html', source: () => own('index.html') },
  { path: '/docs/page.css', type: 'text/css', source: () => own('page.css') },
  { path: '/docs/page.js', type: 'text/javascript', source: () => own('page.js') },
  { path: '/docs/swagger-ui.css', type: 'text/css', source: () => renderer('swagger-ui.css') },
  { path: '/docs/swagger-ui.js', type: 'text/javascript', source: () => renderer('swagger-ui-bundle.js') },
]

export interface DocsOptions {
  readonly config: Config
}

export const docsPlugin: FastifyPluginAsync<DocsOptions> = async (app, { config }) => {
  const contract = once(async () => {
    const [written, variants] = await Promise.all([
      readFile(new URL('../../openapi.yaml', import.meta.url), 'utf8'),
      readFile(new URL('./contract-variants.json', import.meta.url), 'utf8'),
    ])
    return servedContract(written, JSON.parse(variants) as Variants, config)
  })
  const schema = {
    summary: 'This contract',
    description: 'With the spellings and credentials that the settings of this service ask for.',
    operationId: 'openapi',
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
    return contract()
  })

  if (config.docs === 'off') return
  for (const { path, type, source } of FILES) {
    const load = once(async () => {
      const plain = await readFile(source())
      return { plain, packed: await promisify(gzip)(plain) }
    })
    app.get(path, { schema: { hide: true } as object }, async (request, reply) => {
      const { plain, packed } = await load()
      reply.type(`${type}; charset=utf-8`).header('vary', 'accept-encoding')
      if (type === 'text/html') reply.header('content-security-policy', PAGE_POLICY)
      else reply.header('cache-control', 'public, max-age=3600')
      if (!/\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(request.headers['accept-encoding'] ?? '')) return plain
      reply.header('content-encoding', 'gzip')
      return packed
    })
  }
}

/** Nothing is read before somebody asks, and what was read is kept; a failure is not. */
function once<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let kept: Promise<Value> | undefined
  return () => {
    kept ??= load().catch((error: unknown) => {
      kept = undefined
      throw error
    })
    return kept
  }
}
