import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import fastifyPlugin from 'fastify-plugin'
import { pino } from 'pino'
import { stringify } from 'yaml'
import { buildApp } from '#src/app.ts'
import { loadConfig } from '#src/config/load-config.ts'
import { systemClock } from '#src/lib/clock.ts'
import { systemRandom } from '#src/lib/random.ts'
import { openStore } from '#src/store/open-store.ts'

const options: FastifyDynamicSwaggerOptions = {
  // Shared schemas keep their own names.
  refResolver: { buildLocalReference: ({ $id }) => String($id) },
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'teslim',
      version: '1.0.0',
      description:
        'Token login for API customers and purchase-order deliveries from suppliers. Every JSON answer but the key set is an envelope of data, success and message; refusals add errorCode and requestId. Paths and contract fields may be spelled in any letter case, and a trailing slash does no harm.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: 'http://127.0.0.1:3000', description: 'Where npm start listens' }],
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'The Token of a login' } },
    },
    tags: [
      { name: 'Login', description: 'E-mail and password for a bearer token' },
      { name: 'Customer', description: 'The holder of a bearer token' },
      {
        name: 'Purchase',
        description: 'Purchase orders from suppliers, under an ApiKey, and what came in, under a token',
      },
      { name: 'Token', description: 'What verifies a bearer token' },
      { name: 'Operation', description: 'For load balancers and monitors' },
    ],
  },
}

/** The contract as the registered routes and their schemas say it, with the default settings. */
export async function contractYaml(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'teslim-contract-'))
  const { config } = loadConfig({ DATABASE_URL: `sqlite:${join(folder, 'teslim.db')}` })
  const { store } = await openStore(config, 0)
  const app = await buildApp({
    config,
    store,
    clock: systemClock,
    random: systemRandom,
    logger: pino({ level: 'silent' }),
    writeInfo: () => undefined,
    observer: fastifyPlugin(async (instance) => void (await instance.register(swagger, options))),
  })
  try {
    return stringify(app.swagger(), { lineWidth: 120, aliasDuplicateObjects: false })
  } finally {
    await app.close()
    await store.close()
    rmSync(folder, { recursive: true })
  }
}
