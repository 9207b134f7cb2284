import { Type } from '@sinclair/typebox'
import type { FastifyBaseLogger } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { type AppError, reasonOf } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { named } from '#src/lib/json/schema-parts.ts'
import { operatorNetworks } from '#src/lib/net/networks.ts'
import { VERSION } from '#src/lib/version.ts'
import type { Store } from '#src/store/store.ts'
import { success, successSchema } from './envelope.ts'
import { httpErrors } from './http.errors.ts'
import type { PluginWith } from './parts.ts'

const HealthSchema = named('Health', { Status: Type.Literal('ok'), Version: Type.String({ examples: [VERSION] }) })
const healthy = success({ Status: 'ok' as const, Version: VERSION })

/** A server that is busy or has no store is not dead. */
const HEALTH_CHECK = { answeredAlways: true }

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
      {
        description:
          'Docs and Console are absent where that page is turned off, and Console outside the networks of operators',
        examples: [links],
      },
    ),
  })

/** What the service says about itself: whether it is healthy, and where to go on. */
const plugin: PluginWith<'config' | 'store' | 'clock'> = async (app, { config, store, clock }) => {
  const outages = createOutageLog(store, app.log, clock)
  app.onRefusal((_request, error) => outages.note(error))
  app.addHook('onClose', async () => outages.close())

  const live = {
    summary: 'Is the process alive?',
    operationId: 'live',
    isStoreless: true,
    description: 'Checks the process only, not the store. Use it to decide whether to restart the process.',
    tags: ['Operation'],
    response: { 200: successSchema(HealthSchema, 'The process is alive') },
  }
  app.get('/livez', { schema: live, config: HEALTH_CHECK }, async () => healthy)

  const ready = {
    summary: 'Is the service ready? Checks that the store could take a delivery now.',
    operationId: 'ready',
    description:
      'Load balancers should send requests only while this is 200. Its message says what is missing; it fails as soon as the service was told to stop.',
    tags: ['Operation'],
    errors: [httpErrors.stopping],
    response: { 200: successSchema(HealthSchema, 'The service is ready') },
  }
  app.get('/readyz', { schema: ready, config: HEALTH_CHECK }, async () => {
    await app.readiness.check()
    return healthy
  })

  const Links = {
    ...(config.docs === 'on' && { Docs: '/docs' }),
    ...(config.console === 'on' && { Console: '/console' }),
    OpenApi: '/openapi.yaml',
    Ready: '/readyz',
    PublicKeys: '/.well-known/jwks.json',
  }
  const root = {
    summary: 'Name, version and links',
    operationId: 'root',
    isStoreless: true,
    description: 'Says what answers at this address and where its documentation is.',
    tags: ['Operation'],
    response: { 200: successSchema(rootSchema(Links), 'The service') },
  }
  const operators = operatorNetworks(config.operatorNetworks)
  const { Console: _hidden, ...othersLinks } = Links
  app.get('/', { schema: root }, async ({ address }) =>
    success({
      Name: 'teslim' as const,
      Version: VERSION,
      Links: (operators?.contain(address) ?? true) ? Links : othersLinks,
    }),
  )
}

const POLL_MILLISECONDS = 500

/** Logs one line when the store is lost and one when it is back, however many requests fail. */
function createOutageLog({ ping }: Pick<Store, 'ping'>, log: FastifyBaseLogger, clock: Clock) {
  let lostAt: number | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const poll = async (): Promise<void> => {
    const isBack = await ping().then(
      () => true,
      () => false,
    )
    if (closed) return
    if (!isBack) return pollLater()
    log.info({ seconds: Math.round((clock.monotonic() - (lostAt ?? 0)) / 100) / 10 }, 'store back')
    lostAt = undefined
  }

  const pollLater = (): void => {
    timer = setTimeout(poll, POLL_MILLISECONDS).unref()
  }

  return {
    /** Must be called for every refusal. */
    note(error: AppError): void {
      if (error.code !== 'STORE_UNAVAILABLE' || lostAt !== undefined) return
      lostAt = clock.monotonic()
      log.error({ reason: reasonOf(error) }, 'store lost')
      pollLater()
    },
    close(): void {
      closed = true
      clearTimeout(timer)
    },
  }
}

export const servicePlugin = fastifyPlugin(plugin, { name: 'service' })
