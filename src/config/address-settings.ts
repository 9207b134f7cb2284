import { textOf } from '#src/lib/messages/message.ts'
import { isHostName } from '#src/lib/net/host-name.ts'
import { hostPortText, readHostPort } from '#src/lib/net/host-port.ts'
import { EVERY_ADDRESS, isNetwork, networkText, readNetwork, readPrefix } from '#src/lib/net/network.ts'
import { itemsOf } from './setting-kinds.ts'

/** Accepts what Fastify does, except a prefix that trusts everybody. */
export const areTrustedProxies = (written: string): boolean =>
  written === 'off' || itemsOf(written).every(isTrustedProxy)

function isTrustedProxy(item: string): boolean {
  if (item === 'loopback') return true
  const network = readPrefix(item)
  return isNetwork(network) && network.prefixBits > 0
}

/** Accepts origins exactly as browsers send them, or an asterisk alone. */
export function readOrigins(written: string): readonly string[] | undefined {
  const origins = itemsOf(written)
  return origins.every(isOrigin) || written.trim() === '*' ? origins : undefined
}

/** A path, a default port, capital letters or a name in Unicode would never match. */
const isOrigin = (item: string): boolean =>
  /^https?:[^*]*$/.test(item) && URL.canParse(item) && new URL(item).origin === item

/** Accepts addresses and networks, and returns them in canonical form. */
export function readOperatorNetworks(written: string): readonly string[] | undefined {
  const networks = itemsOf(written).map(readNetwork)
  return networks.every(isNetwork) ? [...new Set(networks.map(networkText))] : undefined
}

/** Says what is wrong with the first item that is no network. */
export function wrongOperatorNetworks(written: string): string | undefined {
  for (const item of itemsOf(written)) {
    const read = readNetwork(item)
    if (isNetwork(read)) continue
    return `${JSON.stringify(item)} ${textOf(read)}${read === EVERY_ADDRESS ? ': leave the setting out for that' : ''}`
  }
  return undefined
}

/**
 * Accepts host names, addresses and networks, each with a port or without, and returns them as they are compared: names in lower case,
 * networks in canonical form.
 */
export function readWebhookAllow(written: string): readonly string[] | undefined {
  const items = itemsOf(written).map(readPlace)
  return items.every((item) => item !== undefined) ? [...new Set(items)] : undefined
}

/** Names the first item that is wrong, and how it is written. */
export function wrongWebhookAllow(written: string): string | undefined {
  const wrong = written.split(',').find((item) => readPlace(item.trim()) === undefined)
  if (wrong === undefined) return undefined
  const meant = readPlace(/^https?:\/\/([^/]*)/i.exec(wrong.trim())?.[1] ?? '')
  return `${JSON.stringify(wrong)} is neither${meant === undefined ? '' : `, did you mean ${meant}?`}`
}

function readPlace(item: string): string | undefined {
  const { host = '', port } = readHostPort(item) ?? {}
  const network = readNetwork(host)
  if (isNetwork(network)) return hostPortText({ host: networkText(network), port })
  const name = host.toLowerCase()
  return isHostName(name) ? hostPortText({ host: name, port }) : undefined
}
