import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls'
import { urlHost } from '#src/lib/net/reachable-host.ts'
import type { AddressRule } from './address-rule.ts'
import { failureText } from './failure-text.ts'
import type { ProxyServer } from './proxies.ts'
import { type Resolve, systemResolve, unlessAborted } from './resolve.ts'
import { forbiddenAddress, type Target } from './target.ts'

export interface Way {
  readonly target: Target
  readonly proxy: ProxyServer | undefined
  readonly rule: AddressRule
  readonly resolve: Resolve
  readonly authorities: SecureContext
}

/** The authorities that an endpoint's certificate is verified with: an own one, as PEM, or those that Node trusts. */
export function createAuthorities(): (ca: string | null) => SecureContext {
  let trusted: SecureContext | undefined
  return (ca) => {
    // An empty text alone would mean Node's list.
    if (ca !== null) return createSecureContext({ ca: [ca] })
    trusted ??= createSecureContext()
    return trusted
  }
}

/** Opens a connection on which the request to the target can be written. */
export async function openConnection({ target, proxy, ...way }: Way, signal: AbortSignal): Promise<Socket> {
  const socket = proxy ? await reachProxy(proxy, target, signal) : await reachDirectly({ target, ...way }, signal)
  return target.isSecure ? secure(socket, target, signal, way.authorities) : socket
}

async function reachDirectly({ target, rule, resolve }: Omit<Way, 'proxy'>, signal: AbortSignal): Promise<Socket> {
  const { host, port, isAddress, isNamed } = target
  if (isAddress) return openTcp(host, port, [host], signal)
  const found = await unlessAborted(resolve(host), signal)
  const [first] = found
  if (first === undefined) throw Object.assign(new Error(`no address of ${host}`), { code: 'ENOTFOUND' })
  const allowed = isNamed ? found : found.filter((each) => rule.allows(each, target))
  if (allowed.length === 0) throw forbiddenAddress(target, first)
  return openTcp(host, port, allowed, signal)
}

async function reachProxy(proxy: ProxyServer, target: Target, signal: AbortSignal): Promise<Socket> {
  const { host, port, isSecure } = proxy
  try {
    const plain = await openTcp(host, port, await unlessAborted(systemResolve(host), signal), signal)
    const socket = isSecure ? await secure(plain, { host, isAddress: isIP(host) !== 0 }, signal) : plain
    return target.isSecure ? await openTunnel(socket, proxy, target, signal) : socket
  } catch (error) {
    throw new Error(`the proxy: ${failureText(error as Error, host)}`, { cause: error })
  }
}

/** Connects to one of these addresses and to no other: the name is not resolved again. */
async function openTcp(host: string, port: number, addresses: readonly string[], signal: AbortSignal): Promise<Socket> {
  const all = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  const socket = connectTcp({
    host,
    port,
    noDelay: true,
    autoSelectFamily: true,
    lookup: (_host, _options, callback) => callback(null, all),
  })
  return whenReady(socket, 'connect', signal)
}

async function openTunnel(socket: Socket, proxy: ProxyServer, target: Target, signal: AbortSignal): Promise<Socket> {
  const path = `${urlHost(target.host)}:${target.port}`
  const headers = { host: path, ...(proxy.authorization && { 'proxy-authorization': proxy.authorization }) }
  const { request } = await import('node:http')
  const asked = request({ method: 'CONNECT', path, headers, createConnection: () => socket })
  asked.on('error', () => undefined)
  asked.end()
  try {
    const [{ statusCode }, , head] = await unlessAborted(once(asked, 'connect'), signal)
    if (statusCode < 200 || statusCode > 299) throw new Error(`status ${statusCode}`)
    if (head.length > 0) throw new Error('it sent more than an answer')
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

async function secure(
  socket: Socket,
  { host, isAddress }: Pick<Target, 'host' | 'isAddress'>,
  signal: AbortSignal,
  secureContext?: SecureContext,
): Promise<Socket> {
  const tls = connectTls({
    socket,
    host,
    servername: isAddress ? '' : host,
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
    ...(secureContext && { secureContext }),
  })
  return whenReady(tls, 'secureConnect', signal)
}

async function whenReady(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<Socket> {
  socket.on('error', () => undefined)
  try {
    await once(socket, event, { signal })
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}
