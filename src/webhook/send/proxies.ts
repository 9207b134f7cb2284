import { AppError } from '#src/lib/app-error.ts'
import { readHostPort } from '#src/lib/net/host-port.ts'
import { addressBytes, contains, isNetwork, readPrefix } from '#src/lib/net/network.ts'
import { webhookErrors } from '../webhook.errors.ts'
import { defaultPort } from './address-rule.ts'
import { isLocalhost, type Target } from './target.ts'

type Variables = Readonly<Record<string, string | undefined>>

export interface ProxyServer {
  readonly host: string
  readonly port: number
  readonly isSecure: boolean
  /** The header Proxy-Authorization; null if the proxy's URL has no user name. */
  readonly authorization: string | null
}

/** Returns undefined if a connection goes there directly. Throws if the proxy's URL cannot be used. */
export type Proxies = (target: Target) => ProxyServer | undefined

export const noProxies: Proxies = () => undefined

/** Reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY; if both spellings are set, the one in lower case wins, as in curl. */
export function readProxies(variables: Variables): Proxies {
  const read = (name: string): string => variables[name.toLowerCase()] || variables[name] || ''
  const [secure, plain] = [readProxy('HTTPS_PROXY', read('HTTPS_PROXY')), readProxy('HTTP_PROXY', read('HTTP_PROXY'))]
  const exceptions = read('NO_PROXY')
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((text) => text !== '')
    .map(readException)
  return (target) => {
    const proxy = target.isSecure ? secure : plain
    if (proxy === undefined || isLoopback(target.host) || exceptions.some((holds) => holds(target))) return undefined
    if (proxy instanceof AppError) throw proxy
    return proxy
  }
}

/** The address of a proxy's own machine is hardly meant by that. */
const isLoopback = (host: string): boolean =>
  isLocalhost(host) || host === '::1' || addressBytes(host)?.[0] === (addressBytes(host)?.length === 4 ? 127 : -1)

function readProxy(name: string, text: string): ProxyServer | AppError | undefined {
  if (text === '') return undefined
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`
  const wrong = new AppError(webhookErrors.urlInvalid, { message: `${name} is not the URL of an HTTP proxy` })
  if (!URL.canParse(full)) return wrong
  const { protocol, hostname, port, username, password } = new URL(full)
  if (!/^https?:$/.test(protocol) || port === '0') return wrong
  const isSecure = protocol === 'https:'
  try {
    const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    return {
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(port) || defaultPort(isSecure),
      isSecure,
      authorization: user === ':' ? null : `Basic ${Buffer.from(user).toString('base64')}`,
    }
  } catch {
    return wrong
  }
}

/** Reads one item of NO_PROXY: `*`, a domain with all its names, an address or a network; optionally with a port. */
function readException(text: string): (target: Target) => boolean {
  if (text === '*') return () => true
  const { host = '', port } = readHostPort(text) ?? {}
  const isPort = (target: Target): boolean => port === undefined || port === target.port
  const network = readPrefix(host)
  if (isNetwork(network)) {
    return (target) => {
      const bytes = addressBytes(target.host)
      return bytes !== undefined && contains(network, bytes) && isPort(target)
    }
  }
  const domain = host.replace(/^\*?\./, '').replace(/\.$/, '')
  return (target) => domain !== '' && !target.isAddress && `.${target.host}`.endsWith(`.${domain}`) && isPort(target)
}
