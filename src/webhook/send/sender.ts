import type { Clock } from '#src/lib/clock.ts'
import { keptWork, sharedWork } from '#src/lib/shared-work.ts'
import { maskedParts } from '../masked-url.ts'
import { createAddressRule } from './address-rule.ts'
import { createAttempts } from './attempts.ts'
import type { UrlOptions } from './check-url.ts'
import { type Connections, createConnections, IDLE_MILLISECONDS } from './connections.ts'
import { exchange } from './exchange.ts'
import { failureText } from './failure-text.ts'
import { failedOutcome, outcomeOf } from './outcome.ts'
import { noProxies } from './proxies.ts'
import { systemResolve } from './resolve.ts'
import { readTarget } from './target.ts'

export interface Sending {
  readonly url: string
  /** The authority that signed the endpoint's certificate, as PEM; null for those that Node trusts. */
  readonly ca: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export interface SenderOptions extends UrlOptions {
  readonly clock: Clock
  /** For the whole attempt, from the resolving of the name to the end of the answer. */
  readonly timeoutMilliseconds?: number
}

export type Sender = ReturnType<typeof createSender>

interface Endpoint {
  readonly host: string
  readonly path: string
  /** The parts of the URL that not everybody may see. */
  readonly secrets: readonly string[]
  readonly proxyHeaders: Readonly<Record<string, string>> | undefined
  readonly connections: Connections
}

const DEFAULT_TIMEOUT = 15_000
/** Every other header may be a secret. */
const PUBLIC_HEADERS = ['content-type', 'user-agent', 'webhook-id', 'webhook-timestamp']

const secretsIn = (headers: Sending['headers']): string[] =>
  Object.entries(headers).flatMap(([name, value]) => (PUBLIC_HEADERS.includes(name.toLowerCase()) ? [] : [value]))

/** What only a process that sends webhooks needs. */
async function loadTransport() {
  const [{ default: Client }, { createAuthorities, openConnection }] = await Promise.all([
    import('undici/lib/dispatcher/client.js'),
    import('./connect.ts'),
  ])
  return { Client, authoritiesOf: createAuthorities(), openConnection }
}

type Transport = Awaited<ReturnType<typeof loadTransport>>

const stopping = (): Error => new Error('the service is stopping')

export function createSender(options: SenderOptions) {
  const { allow, clock, proxies = noProxies, timeoutMilliseconds = DEFAULT_TIMEOUT } = options
  const rule = createAddressRule(allow)
  const resolve = sharedWork(options.resolve ?? systemResolve, (host) => host)
  const load = keptWork(loadTransport)
  const endpoints = new Map<string, Map<string | null, Endpoint>>()
  const attempts = createAttempts()
  const late = new Error(`no answer within ${timeoutMilliseconds / 1000} s`)
  let transport: Transport | undefined
  let sweep: NodeJS.Timeout | undefined
  let isClosed = false

  const endpointOf = (loaded: Transport, url: string, ca: string | null): Endpoint => {
    const ofUrl = endpoints.get(url) ?? new Map<string | null, Endpoint>()
    const known = ofUrl.get(ca)
    if (known) return known
    const target = readTarget(url, rule)
    const proxy = proxies(target)
    const authorities = loaded.authoritiesOf(ca)
    const isForwarded = proxy !== undefined && !target.isSecure
    const endpoint = {
      host: target.host,
      path: isForwarded ? target.url.href : target.url.pathname + target.url.search,
      secrets: maskedParts(target.url),
      proxyHeaders: isForwarded && proxy.authorization ? { 'proxy-authorization': proxy.authorization } : undefined,
      connections: createConnections({
        Client: loaded.Client,
        origin: target.url.origin,
        monotonic: () => clock.monotonic(),
        open: (signal) => loaded.openConnection({ target, proxy, rule, resolve, authorities }, signal),
      }),
    }
    endpoints.set(url, ofUrl.set(ca, endpoint))
    sweep ??= setInterval(forgetIdle, IDLE_MILLISECONDS / 3).unref()
    return endpoint
  }
  const forgetIdle = (): void => {
    for (const [url, ofUrl] of endpoints) {
      for (const [ca, { connections }] of ofUrl) {
        if (connections.prune(clock.monotonic() - IDLE_MILLISECONDS)) ofUrl.delete(ca)
      }
      if (ofUrl.size === 0) endpoints.delete(url)
    }
    if (endpoints.size > 0) return
    clearInterval(sweep)
    sweep = undefined
  }

  return {
    /** Makes one attempt. Never rejects. */
    async send({ url, ca, headers, body }: Sending) {
      const start = clock.monotonic()
      const passed = (): number => Math.round(clock.monotonic() - start)
      try {
        transport ??= await load()
        if (isClosed) throw stopping()
        const { host, path, secrets, proxyHeaders, connections } = endpointOf(transport, url, ca)
        const all = { ...headers, ...proxyHeaders }
        const attempt = exchange(connections, { path, headers: all, body })
        const timer = setTimeout(() => attempt.stop(late), timeoutMilliseconds)
        const remove = attempts.add(attempt)
        const result = await attempt.result
        clearTimeout(timer)
        remove()
        return outcomeOf(result, host, clock.now(), passed(), [...secretsIn(all), ...secrets])
      } catch (error) {
        return failedOutcome(failureText(error as Error, ''), passed())
      }
    },
    /** Ends all attempts and closes all connections. */
    async close() {
      isClosed = true
      clearInterval(sweep)
      attempts.stop(stopping())
      const all = Array.from(endpoints.values(), (ofUrl) => Array.from(ofUrl.values()))
      endpoints.clear()
      await Promise.all(all.flat().map(({ connections }) => connections.close()))
    },
  }
}
