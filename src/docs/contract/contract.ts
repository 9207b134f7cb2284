import { setImmediate } from 'node:timers/promises'
import type { Config } from '#src/config/load-config.ts'
import { FailureSchema } from '#src/http/envelope.ts'
import { VERSION } from '#src/lib/version.ts'
import { finishContract, type OpenApi, type Operation } from './answers.ts'
import { withComponents } from './components.ts'
import type { RegisteredRoute, RouteSchema } from './errors.ts'
import { copier, operationOf } from './operations.ts'
import { OPERATOR_TAG, operatorsPage, referencePage, WEBHOOK_TAG } from './page.ts'
import { contractText } from './text.ts'
import { contractWebhooks } from './webhooks.ts'
import { toYaml } from './yaml.ts'

const INFO = {
  contact: { name: 'The operator of this service' },
  license: { name: 'MIT', identifier: 'MIT' },
}

const SERVERS = [
  { url: '/', description: 'The server that serves this file; npm start listens on http://127.0.0.1:3000' },
]

const TAGS = [
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
]

const SECURITY_SCHEMES = {
  ApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'ApiKey',
    description: 'The key that `teslim key issue` printed',
  },
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'The token from the login' },
}

/** Makes the contract from the routes of a server, as its settings made them. */
export function contractOf(routes: readonly RegisteredRoute[], config: Config): OpenApi {
  const copy = copier()
  const paths: Record<string, Record<string, Operation>> = {}
  const schemas = new Map<string, RouteSchema>()
  for (const { method, url, schema } of routes) {
    if (schema.operationId) {
      schemas.set(schema.operationId, schema)
      const path = url.replaceAll(/:(\w+)/g, '{$1}')
      paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(schema, schema.operationId, copy) }
    } else if (!schema.hide || !/^\/(docs|console)\b/.test(url))
      throw new Error(
        `give the route ${url} a schema with an operationId: only files of /docs and /console are not in the contract`,
      )
  }
  const components = { securitySchemes: SECURITY_SCHEMES, schemas: { Failure: copy(FailureSchema) } }
  const info = { title: 'teslim', version: VERSION, description: contractText(config), ...INFO }
  const document = { openapi: '3.1.0', info, components, servers: SERVERS, tags: TAGS, paths }
  return { ...finishContract(document, schemas, config), webhooks: contractWebhooks(copy) }
}

/** The page and the Postman collection are made from the whole document. In the others, what stands more than once has a name. */
export const TEXTS = {
  yaml: async (document: OpenApi): Promise<string> => toYaml(await shortened(document)),
  json: async (document: OpenApi): Promise<string> => `${JSON.stringify(await shortened(document))}\n`,
  reference: async (document: OpenApi): Promise<string> => JSON.stringify(referencePage(document)),
  operators: async (document: OpenApi): Promise<string> => JSON.stringify(operatorsPage(document)),
}

async function shortened(document: OpenApi): Promise<OpenApi> {
  const short = withComponents(document)
  // Other requests have their turn meanwhile.
  await setImmediate()
  return short
}

export type Form = keyof typeof TEXTS
