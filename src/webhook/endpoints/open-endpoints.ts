import type { Config, Variables } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Random } from '#src/lib/random.ts'
import type { Cursors } from '#src/purchase/cursors.ts'
import type { Store } from '#src/store/store.ts'
import { checkUrl } from '../send/check-url.ts'
import { readProxies } from '../send/proxies.ts'
import { createSender } from '../send/sender.ts'
import { createWebhookSecrets } from '../webhook-secrets.ts'
import { createEndpoints } from './endpoints.rule.ts'

interface OpenEndpointsOptions {
  readonly store: Pick<Store, 'webhooks' | 'deliveries' | 'customers' | 'purges'>
  readonly config: Config
  /** HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
  readonly proxyVariables: Variables | undefined
  readonly cursors: Cursors
  readonly clock: Clock
  readonly random: Random
}

/** The rule of endpoints with the settings of the service. `close` ends the connections of tests. */
export function openEndpoints(options: OpenEndpointsOptions) {
  const { store, cursors, config, proxyVariables = {}, clock, random } = options
  const { webhookAllow: allow, secret, formerSecret } = config
  const proxies = readProxies(proxyVariables)
  const sender = createSender({ allow, proxies, clock })
  const endpoints = createEndpoints({
    store,
    cursors,
    secrets: createWebhookSecrets({ secret, formerSecret, random }),
    clock,
    random,
    checkUrl: (url) => checkUrl(url, { allow, proxies }).catch(withoutReason),
    send: sender.send,
  })
  return { endpoints, close: sender.close }
}

/** The message says it already. */
function withoutReason(error: unknown): never {
  throw error instanceof AppError ? new AppError(error, { message: error.message }) : error
}
