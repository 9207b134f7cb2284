import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import { auditPlugin } from '#src/audit/audit.plugin.ts'
import { auditListPlugin } from '#src/audit/audit-list.plugin.ts'
import { exportsPlugin } from '#src/audit/exports.plugin.ts'
import type { LoadedConfig } from '#src/config/load-config.ts'
import { consolePlugin } from '#src/console/console.plugin.ts'
import { findPlugin } from '#src/console/find.plugin.ts'
import { consoleHealthPlugin } from '#src/console/health/console-health.plugin.ts'
import { livePlugin } from '#src/console/live/live.plugin.ts'
import { sessionPlugin } from '#src/console/session/session.plugin.ts'
import { customerPlugin } from '#src/customer/customer.plugin.ts'
import { customerIdsPlugin } from '#src/customer/customer-ids.plugin.ts'
import { operatorActionsPlugin } from '#src/customer/operators/actions.plugin.ts'
import { operatorReadsPlugin } from '#src/customer/operators/reads.plugin.ts'
import { silencePlugin } from '#src/customer/silence/silence.plugin.ts'
import { docsPlugin, errorsOf, listRoutes } from '#src/docs/docs.plugin.ts'
import { type HttpOptions, httpPlugin } from '#src/http/http.plugin.ts'
import { createRequestMetrics } from '#src/http/request-log.ts'
import { serverOptions } from '#src/http/server-options.ts'
import { servicePlugin } from '#src/http/service.plugin.ts'
import { readCertificate } from '#src/lib/certificate.ts'
import type { Metrics } from '#src/lib/metrics.ts'
import type { Random } from '#src/lib/random.ts'
import { createVersionWatch } from '#src/lib/version-watch.ts'
import { loginPlugin } from '#src/login/login.plugin.ts'
import { deliveriesPlugin } from '#src/purchase/deliveries/deliveries.plugin.ts'
import { feedPlugin } from '#src/purchase/feed/feed.plugin.ts'
import { historyPlugin } from '#src/purchase/feed/history.plugin.ts'
import { intakePlugin } from '#src/purchase/intake/intake.plugin.ts'
import { ordersPlugin } from '#src/purchase/orders/orders.plugin.ts'
import { purchasePlugin } from '#src/purchase/purchase.plugin.ts'
import { erasePlugin } from '#src/purchase/purge/erase.plugin.ts'
import { retentionPlugin } from '#src/purchase/purge/retention.plugin.ts'
import { refusalsPlugin } from '#src/purchase/refusals/refusals.plugin.ts'
import { statsPlugin } from '#src/purchase/stats/stats.plugin.ts'
import type { Store } from '#src/store/store.ts'
import { serverMetadataPlugin } from '#src/token/server-metadata.plugin.ts'
import { tokenPlugin } from '#src/token/token.plugin.ts'
import { endpointChangesPlugin } from '#src/webhook/endpoints/routes/endpoint-changes.plugin.ts'
import { endpointReadsPlugin } from '#src/webhook/endpoints/routes/endpoint-reads.plugin.ts'
import type { SenderOptions } from '#src/webhook/send/sender.ts'
import { webhookPlugin } from '#src/webhook/webhook.plugin.ts'

export type App = FastifyInstance

interface AppDependencies extends Omit<HttpOptions, 'config' | 'certificate' | 'requests'> {
  readonly loaded: LoadedConfig
  readonly store: Store
  readonly random: Random
  readonly metrics: Metrics
  /** How webhooks are sent; replaced in tests. */
  readonly sending?: Partial<SenderOptions>
  /** Registered before every hook and route, so that it sees them all; for tests. */
  readonly observer?: FastifyPluginAsync
}

/** Builds the whole service, ready to listen. Closing it leaves the store open for its opener to close. */
export async function buildApp(dependencies: AppDependencies): Promise<App> {
  const { loaded, store, clock, random, metrics, logger, sending, observer } = dependencies
  const { config, proxyVariables } = loaded
  const certificate = readCertificate(config, clock.now())
  const requests = createRequestMetrics(metrics)
  const app = Fastify(serverOptions(config, logger, certificate, requests))
  if (observer) await app.register(observer)
  app.register(httpPlugin, { ...dependencies, config, certificate, requests })
  const routes = listRoutes(app)

  const versions = createVersionWatch(store.accountVersion, clock)
  app.register(servicePlugin, { config, store, clock })
  app.register(docsPlugin, { config, routes })
  app.register(tokenPlugin, { config, store, versions, clock, random })
  app.register(serverMetadataPlugin, { config })
  app.register(auditPlugin, { config, store, clock, random, metrics })
  app.register(loginPlugin, { config, store, clock, random, metrics })
  app.register(customerPlugin, { config, store, versions, clock })
  app.register(customerIdsPlugin, { store })
  app.register(exportsPlugin)
  app.register(operatorReadsPlugin, { config, store, clock })
  app.register(operatorActionsPlugin, { config, store, clock, random })
  app.register(silencePlugin, { config, store, versions, clock, metrics })
  app.register(auditListPlugin, { store })
  app.register(purchasePlugin, { config, store, versions, clock, random })
  app.register(intakePlugin, { config, store, versions, clock, random, metrics })
  app.register(refusalsPlugin, { config, store })
  app.register(ordersPlugin, { store })
  app.register(deliveriesPlugin, { config, store })
  app.register(feedPlugin, { store, clock, metrics })
  app.register(historyPlugin, { config, store })
  app.register(statsPlugin, { store, clock })
  app.register(webhookPlugin, { config, proxyVariables, store, clock, random, metrics, sending })
  app.register(endpointReadsPlugin, { config, proxyVariables, store, clock, random, metrics })
  app.register(endpointChangesPlugin, { clock })
  app.register(erasePlugin, { config, store, clock })
  app.register(retentionPlugin, { config, store, clock, metrics })
  app.register(sessionPlugin, { config, store, clock, random })
  if (config.console === 'on') {
    app.register(consolePlugin, { config })
    app.register(consoleHealthPlugin, { loaded, clock, requests })
    app.register(livePlugin, { config, store, versions, clock, requests })
    app.register(findPlugin, { store })
  }

  await app.ready()
  requests.expectRefusals(errorsOf(routes))
  return app
}
