import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import fastifyPlugin from 'fastify-plugin'
import { pino } from 'pino'
import { Document, isCollection, isPair, visit } from 'yaml'
import { buildApp } from '#src/app.ts'
import { loadConfig, type Variables } from '#src/config/load-config.ts'
import { systemClock } from '#src/lib/clock.ts'
import { createMetrics } from '#src/lib/metrics/metrics.ts'
import { systemRandom } from '#src/lib/random.ts'
import { VERSION } from '#src/lib/version.ts'
import { openStore } from '#src/store/open-store.ts'
import { finishContract, type OpenApi } from './contract-answers.ts'
import { withComponents } from './contract-components.ts'
import type { RouteSchema } from './contract-errors.ts'
import type { Schema } from './contract-examples.ts'
import { OPERATOR_TAG, WEBHOOK_TAG } from './contract-page.ts'
import { CONTRACT_TEXT } from './contract-text.ts'

const options: FastifyDynamicSwaggerOptions = {
  // Shared schemas keep their own names.
  refResolver: { buildLocalReference: ({ $id }) => String($id) },
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'teslim',
      version: VERSION,
      description: CONTRACT_TEXT,
      contact: { name: 'The operator of this service' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      { url: '/', description: 'The server that serves this file; npm start listens on http://127.0.0.1:3000' },
    ],
    tags: [
      { name: 'Login', description: 'Exchanges e-mail and password for a bearer token' },
      {
        name: 'Purchase',
        description: 'Takes deliveries with an API key; lists orders and deliveries with a token',
      },
      {
        name: 'Supplier',
        description: 'Shows suppliers, by their API key, what they may deliver, have delivered, and what was refused',
      },
      { name: 'Customer', description: 'The customer a token belongs to' },
      { name: OPERATOR_TAG, description: 'Shows and changes customers and API keys; for operators, by their token' },
      { name: WEBHOOK_TAG, description: 'Where deliveries are sent as they come in; for operators, by their token' },
      { name: 'Token', description: 'Public keys that verify tokens' },
      { name: 'Operation', description: 'Health checks and this contract' },
    ],
    components: {
      securitySchemes: {
        ApiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'ApiKey',
          description: 'The key that `teslim key issue` printed',
        },
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'The token from the login' },
      },
    },
  },
}

/** Builds the contract from the registered routes and their schemas, with the default settings unless others are given. */
export async function contract(settings: Variables = {}): Promise<OpenApi> {
  const folder = mkdtempSync(join(tmpdir(), 'teslim-contract-'))
  const loaded = loadConfig({ ...settings, DATABASE_URL: `sqlite:${join(folder, 'teslim.db')}` })
  const { config } = loaded
  const { store } = await openStore(config, 0)
  const routes = new Map<string, RouteSchema>()
  const app = await buildApp({
    config,
    loaded,
    background: true,
    store,
    clock: systemClock,
    random: systemRandom,
    metrics: createMetrics(),
    logger: pino({ level: 'silent' }),
    writeInfo: () => undefined,
    observer: fastifyPlugin(async (instance) => {
      await instance.register(swagger, options)
      instance.addHook('onRoute', ({ url, schema: given }) => {
        const schema = given as (RouteSchema & { operationId?: string; hide?: boolean }) | undefined
        if (schema?.operationId) routes.set(schema.operationId, schema)
        else if (!schema?.hide || !/^\/(docs|console)\b/.test(url))
          throw new Error(
            `give the route ${url} a schema with an operationId: only files of /docs and /console are not in the contract`,
          )
      })
    }),
  })
  try {
    return finishContract(plain(app.swagger()) as OpenApi, routes)
  } finally {
    await app.close()
    await store.close()
    rmSync(folder, { recursive: true })
  }
}

/** Returns a copy in which a choice of constants is an `enum`, and a value that may be null has two types. */
function plain(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(plain)
  if (typeof part !== 'object' || part === null) return part
  const copy = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, plain(value)]))
  const { anyOf, ...others } = copy as Schema
  const [first, second] = anyOf ?? []
  if (anyOf?.every(({ type, enum: values }) => type === first?.type && values?.length === 1)) {
    return { ...others, type: first?.type, enum: anyOf.flatMap((schema) => schema.enum) }
  }
  const isNullable = anyOf?.length === 2 && second?.type === 'null' && first?.title === undefined
  if (!isNullable || typeof first?.type !== 'string' || first.enum || first.properties) return copy
  const description = [first.description, others.description].filter((text) => text !== undefined).join('. ')
  return { ...first, ...others, ...(description && { description }), type: [first.type, 'null'] }
}

/** A list or map that JSON writes within this column stands on one line. */
const LINE_WIDTH = 112

/** `openapi.yaml`: what it says more than once has a name. The page and the Postman collection are made from the whole document. */
export function toYaml(document: OpenApi): string {
  const yaml = new Document(withComponents(document), { aliasDuplicateObjects: false, compat: 'yaml-1.1' })
  visit(yaml, {
    Collection: (_key, node, path) => {
      const parent = path.at(-1)
      const start = 2 * path.filter(isCollection).length + (isPair(parent) ? String(parent.key).length : 0)
      const text = JSON.stringify(node)
      if (start + text.length <= LINE_WIDTH && !text.includes('\\n')) node.flow = true
    },
  })
  const text = yaml.toString({ lineWidth: 120, blockQuote: 'literal' })
  return text.replaceAll(/^( *)(required|enum):\n((?:\1 {2}- [\w-]+\n)+)/gm, (_, indent, key, items) =>
    wrapped(`${indent}${key}: [`, `${indent}  `, items.match(/(?<=- )[\w-]+/g)),
  )
}

/** Long lists of names take several to a line. */
function wrapped(start: string, indent: string, names: readonly string[]): string {
  const lines = [start]
  for (const [index, name] of names.entries()) {
    const word = index + 1 < names.length ? ` ${name},` : ` ${name} ]`
    const line = lines.pop() ?? ''
    lines.push(...(line.length + word.length <= LINE_WIDTH ? [line + word] : [line, indent + word.trimStart()]))
  }
  return `${lines.join('\n')}\n`
}
